from compiler_gym.datasets import Benchmark


def kernel(body: str, arguments: str = "%a: memref<64xf32>") -> Benchmark:
    """A benchmark of a function with that body."""
    text = f"func.func @kernel({arguments}) {{\n{body}\nreturn\n}}\n"
    return Benchmark.from_file_contents("benchmark://tests-v0/kernel", text.encode())


MATMUL = kernel(
    "linalg.matmul ins(%a, %b : memref<32x32xf32>, memref<32x32xf32>) outs(%c : memref<32x32xf32>)",
    "%a: memref<32x32xf32>, %b: memref<32x32xf32>, %c: memref<32x32xf32>",
)
