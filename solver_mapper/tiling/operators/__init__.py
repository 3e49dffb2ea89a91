"""SMAUG's operators. Importing this package makes them known."""

from solver_mapper.tiling.operators.batch_norm import BatchNorm
from solver_mapper.tiling.operators.convolution import Convolution
from solver_mapper.tiling.operators.elementwise import Eltwise, Unary
from solver_mapper.tiling.operators.inner_product import InnerProduct
from solver_mapper.tiling.operators.pooling import Pooling
from solver_mapper.tiling.operators.softmax import Softmax

__all__ = ["BatchNorm", "Convolution", "Eltwise", "InnerProduct", "Pooling", "Softmax", "Unary"]
