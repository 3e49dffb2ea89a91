"""Export a PyTorch model to ONNX by way of torch.export, and list its layers.

    python examples/export_torch.py MODEL.onnx
    solver-mapper solve eyeriss MODEL.onnx

Needs torch, onnx and onnxscript. Replace `Network` by a model of your own: weights take no part, so
it needs no training.
"""

from __future__ import annotations

import sys

import torch
from torch import nn

import solver_mapper as sm


class Network(nn.Module):
    """A convolution with a stride, a depthwise one, attention of two heads, a classifier."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.depthwise = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.query = nn.Linear(16, 16)
        self.key = nn.Linear(16, 16)
        self.value = nn.Linear(16, 16)
        self.head = nn.Linear(16, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Figures of ten classes for images of 16 x 16 pixels."""
        features = torch.relu(self.depthwise(torch.relu(self.stem(image))))
        tokens = features.flatten(2).transpose(1, 2)
        parts = [part(tokens) for part in (self.query, self.key, self.value)]
        query, key, value = (each.reshape(-1, 64, 2, 8).transpose(1, 2) for each in parts)
        weights = torch.softmax(query @ key.transpose(2, 3) / 8**0.5, dim=-1)
        mixed = (weights @ value).transpose(1, 2).reshape(-1, 64, 16)
        classes: torch.Tensor = self.head(mixed.mean(dim=1))
        return classes


def main() -> None:
    """Write the model and print what an accelerator would run."""
    file = sys.argv[1]
    example = (torch.zeros(1, 3, 16, 16),)
    torch.onnx.export(Network().eval(), example, file, dynamo=True, external_data=False)
    imported = sm.import_model(file)
    print(f"{imported.macs:,} multiply-accumulates")
    for layer in imported.layers:
        print(layer.name, f"x{layer.count}", layer.shape, layer.instance)
    print(*imported.notes, sep="\n")


if __name__ == "__main__":
    main()
