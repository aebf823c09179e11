#!/usr/bin/env python3
"""PyTorch, unchanged, in a share of this machine's own card. Skipped where it is not installed."""
import importlib.util
import sys

from product import GIB, ProductTest, main

SCRIPT = """
import torch
free, total = torch.cuda.mem_get_info()
a = torch.arange(1024 * 1024, device="cuda", dtype=torch.float64).reshape(1024, 1024) % 7
right = bool((a @ a == (a.cpu() @ a.cpu()).cuda()).all())
try:
    torch.empty(5 << 30, dtype=torch.uint8, device="cuda")
    beyond = "granted"
except torch.cuda.OutOfMemoryError:
    beyond = "out of memory"
kept = torch.empty(1 << 30, dtype=torch.uint8, device="cuda")
print(torch.cuda.device_count(), total, right, beyond)
"""


class Torch(ProductTest):
    def test_a_share_is_a_small_card_to_pytorch(self):
        status, out, err = self.product.run("4Gi", sys.executable, "-c", SCRIPT, bound=240)
        self.assertEqual(status, 0, err)
        self.assertEqual(out.split(None, 3), ["1", str(4 * GIB), "True", "out of memory\n"])


if __name__ == "__main__":
    if importlib.util.find_spec("torch") is None:
        print("SKIPPED: PyTorch is not installed")
        sys.exit(77)
    main()
