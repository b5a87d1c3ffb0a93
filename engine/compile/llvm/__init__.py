"""The backend that makes machine code: lowering, kernels, what the machine has, and threads over rows."""
