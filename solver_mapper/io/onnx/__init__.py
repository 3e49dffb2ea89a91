"""Networks from ONNX models: convolutions and products as layers, everything else listed."""
