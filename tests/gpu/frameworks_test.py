#!/usr/bin/env python3
"""What people run, unchanged, in shares of a real card: each sees a small card, computes what is right, and is
out of memory in its own words. What is not installed is skipped, and said."""
import subprocess
import sys

from card import CardTest
from product import main

SHARE = "6Gi"

TORCH = """
import torch
free, total = torch.cuda.mem_get_info()
assert total == 6 << 30, total
assert torch.cuda.get_device_properties(0).total_memory == 6 << 30
a = torch.arange(1024 * 1024, device="cuda", dtype=torch.float64).reshape(1024, 1024) % 7
assert (a @ a == (a.cpu() @ a.cpu()).cuda()).all()
x = torch.randn(512, 512, device="cuda")
eager = torch.relu(x @ x) + 1
side = torch.cuda.Stream()
with torch.cuda.stream(side):
    for _ in range(3): warm = torch.relu(x @ x) + 1
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    captured = torch.relu(x @ x) + 1
x.copy_(torch.randn(512, 512, device="cuda"))
for _ in range(100): graph.replay()
torch.cuda.synchronize()
assert torch.allclose(captured, torch.relu(x @ x) + 1, atol=1e-3)
try:
    torch.empty(7 << 30, dtype=torch.uint8, device="cuda")
    raise SystemExit("granted more than the share")
except torch.cuda.OutOfMemoryError as error:
    assert "6.00 GiB" in str(error), error
net = torch.nn.Sequential(torch.nn.Linear(256, 1024), torch.nn.ReLU(), torch.nn.Linear(1024, 1)).cuda()
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
inputs = torch.randn(4096, 256, device="cuda")
wanted = inputs.sum(1, keepdim=True)
losses = []
for _ in range(300):
    loss = (net(inputs) - wanted).square().mean()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
    losses.append(loss.item())
assert losses[-1] < losses[0] / 10, losses[::50]
print("right", torch.cuda.device_count(), torch.cuda.memory_reserved() >> 20)
"""

TORCH_ASYNC = """
import os
os.environ["PYTORCH_CUDA_ALLOC_CONF"] = "backend:cudaMallocAsync"
import torch
blocks = []
try:
    while True: blocks.append(torch.empty(256 << 20, dtype=torch.uint8, device="cuda"))
except torch.cuda.OutOfMemoryError: pass
assert 18 <= len(blocks) <= 23, len(blocks)
del blocks
a = torch.ones(1 << 28, device="cuda")
assert a.sum(dtype=torch.float64).item() == 1 << 28
print("right")
"""

TORCH_EXPANDABLE = TORCH_ASYNC.replace("backend:cudaMallocAsync", "expandable_segments:True")

CUPY = """
import cupy, numpy
free, total = cupy.cuda.runtime.memGetInfo()
assert total == 6 << 30, total
a = cupy.arange(1 << 22, dtype=cupy.float64)
assert float(a.sum()) == (1 << 22) * ((1 << 22) - 1) / 2
k = cupy.RawKernel('extern "C" __global__ void twice(float* x) { x[blockIdx.x * blockDim.x + threadIdx.x] *= 2; }', "twice")
x = cupy.ones(1 << 20, dtype=cupy.float32); k((4096,), (256,), (x,))
assert float(x.sum()) == 2 << 20
try:
    cupy.empty(7 << 30, dtype=cupy.uint8); raise SystemExit("granted more than the share")
except cupy.cuda.memory.OutOfMemoryError: pass
print("right")
"""

JAX = """
import jax, jax.numpy as jnp
stats = jax.devices()[0].memory_stats()
assert stats["bytes_limit"] < 6 << 30, stats
x = jnp.arange(1 << 20, dtype=jnp.float32).reshape(1024, 1024) % 5
y = jax.jit(lambda m: (m @ m).sum())(x)
import numpy
assert abs(float(y) - float((numpy.asarray(x, dtype=numpy.float64) @ numpy.asarray(x, dtype=numpy.float64)).sum())) < 1e-3 * abs(float(y))
print("right", stats["bytes_limit"] >> 20)
"""

TRITON = """
import torch, triton, triton.language as tl
@triton.jit
def add(x, y, out, n, B: tl.constexpr):
    at = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(out + at, tl.load(x + at, mask=at < n) + tl.load(y + at, mask=at < n), mask=at < n)
x = torch.randn(98432, device="cuda"); y = torch.randn(98432, device="cuda"); out = torch.empty_like(x)
add[(triton.cdiv(98432, 1024),)](x, y, out, 98432, B=1024)
assert (out == x + y).all()
print("right")
"""

NUMBA = """
import numpy
from numba import cuda
@cuda.jit
def twice(x):
    i = cuda.grid(1)
    if i < x.size: x[i] *= 2
x = cuda.to_device(numpy.ones(1 << 20, dtype=numpy.float32))
twice[4096, 256](x)
assert x.copy_to_host().sum() == 2 << 20
assert cuda.current_context().get_memory_info().total == 6 << 30
print("right")
"""

NVML = """
import pynvml
pynvml.nvmlInit()
assert pynvml.nvmlDeviceGetCount() == 1
card = pynvml.nvmlDeviceGetHandleByIndex(0)
assert pynvml.nvmlDeviceGetMemoryInfo(card).total == 6 << 30
print("right", pynvml.nvmlDeviceGetName(card))
"""

PROGRAMS = [("torch", "torch", TORCH), ("torch_async", "torch", TORCH_ASYNC),
            ("torch_expandable", "torch", TORCH_EXPANDABLE), ("cupy", "cupy", CUPY), ("jax", "jax", JAX),
            ("triton", "triton", TRITON), ("numba", "numba.cuda", NUMBA), ("nvml", "pynvml", NVML)]


def can_import(module):
    done = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
    return done.returncode == 0


class Frameworks(CardTest):
    def test_everybody_sees_a_small_card_and_computes_what_is_right(self):
        """All at once: each is the others' neighbour."""
        running = []
        for name, imported, text in PROGRAMS:
            # Triton reads its kernels' text where they were defined.
            script = self.product.root / f"program_{name}.py"
            script.write_text(text)
            running.append((name, imported, self.product.start(
                "run", "--memory", SHARE, "--name", name, "--", sys.executable, script)))
        wrong = []
        for name, imported, process in running:
            out, err = process.communicate(timeout=150)
            print(f"{name}: {process.returncode} {out}{err[-1500:]}", file=sys.stderr)
            if process.returncode == 0 and "right" in out:
                continue
            if can_import(imported):
                wrong.append(name)
            else:
                print(f"SKIPPED: {imported} cannot be imported, without Divvy either", file=sys.stderr)
        self.assertEqual(wrong, [])


if __name__ == "__main__":
    main()
