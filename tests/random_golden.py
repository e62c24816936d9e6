"""Makes random_golden.h: what PyTorch draws, for test_random.c to compare with.

    1.13.1:  random_golden.py draw > torch1;  ATEN_CPU_CAPABILITY=default ... > torch1_plain
    2.15.0:  random_golden.py draw > torch2;  ATEN_CPU_CAPABILITY=default ... > torch2_plain
    random_golden.py merge torch1 torch2 torch1_plain torch2_plain > random_golden.h

on x86-64 with AVX2 and glibc. A row is one way to draw; its checksum is FNV-1a over the bytes of
all elements, seed after seed.
"""
import struct
import sys

SEEDS = [0, 1, 42, 2**32 - 1, 2**63, -1, 2, 3, 1234, 2**31, 2**32, 2**32 + 42, 1337, 31337, 5489,
         19937, 67280421310721, 10**18, -42, 2**63 - 1]


def rows():
    """method and layout as in test_random.c, dtype, n, and the method's arguments a and b"""
    for dtype in "F32", "F64":
        for n in 4, 7, 15, 16, 17, 31, 33, 100, 1300:
            yield "RAND", "FLAT", dtype, n, 0, 1
            yield "RANDN", "FLAT", dtype, n, 0, 1
        for n in 3, 7, 16:
            yield "MIXED", "FLAT", dtype, n, 0, 1
        for n in 5, 100:
            yield "UNIFORM", "FLAT", dtype, n, -3**-0.5, 3**-0.5
            yield "UNIFORM", "FLAT", dtype, n, 0.1, 0.7
            yield "UNIFORM", "FLAT", dtype, n, 0, 0.7
        for n in 15, 16, 100, 101:
            yield "NORMAL", "FLAT", dtype, n, 0.3, 0.02
            yield "NORMAL", "FLAT", dtype, n, 0, 0.02
        for layout in "TRANSPOSED", "COLUMN", "PERMUTED":
            for n in 3, 16:
                yield "UNIFORM", layout, dtype, n, 0.1, 0.7
                yield "NORMAL", layout, dtype, n, 0.3, 0.02
        yield "RANDN", "SCALAR", dtype, 1, 0, 1
        for n in 3, 100:
            yield "BERNOULLI", "FLAT", dtype, n, 0, 0
            yield "BERNOULLI", "TRANSPOSED", dtype, n, 0, 0
    for dtype in "F32", "F64", "I64", "BOOL":
        yield "BERNOULLI_INTO", "FLAT", dtype, 100, 0.3, 0
        yield "BERNOULLI_INTO", "TRANSPOSED", dtype, 7, 0.3, 0
    for low, high in ((0, 100), (-7, 8), (0, 2**28 - 1), (-5, 2**28 - 5), (-2**31, 2**31 - 1),
                      (-2**31, 2**31), (-3, 2**40), (-2**63, 2**63 - 1024)):
        yield "RANDINT", "FLAT", "I64", 50, low, high
    for n in 0, 1, 2, 10, 1000:
        yield "RANDPERM", "FLAT", "I64", n, 0, 0


def draw(torch, method, layout, dtype, n, a, b):
    dtype = {"F32": torch.float32, "F64": torch.float64, "I64": torch.int64,
             "BOOL": torch.bool}[dtype]

    def target():
        return {"FLAT": lambda: torch.empty(n, dtype=dtype),
                "TRANSPOSED": lambda: torch.empty(n, 5, dtype=dtype).t(),
                "COLUMN": lambda: torch.empty(n, 2, dtype=dtype)[:, 0],
                "PERMUTED": lambda: torch.empty(2, 3, n, dtype=dtype).permute(2, 0, 1)}[layout]()

    def probabilities():
        p = torch.rand(n, 5, dtype=dtype)
        return p.t() if layout == "TRANSPOSED" else p

    return {"RAND": lambda: torch.rand(n, dtype=dtype),
            "RANDN": lambda: torch.randn(() if layout == "SCALAR" else n, dtype=dtype),
            "MIXED": lambda: torch.cat([torch.randn(n, dtype=dtype), torch.rand(2, dtype=dtype),
                                        torch.randn(3, dtype=dtype), torch.randn(16, dtype=dtype),
                                        torch.randn(1, dtype=dtype)]),
            "UNIFORM": lambda: target().uniform_(a, b),
            "NORMAL": lambda: target().normal_(a, b),
            "BERNOULLI_INTO": lambda: target().bernoulli_(a),
            "BERNOULLI": lambda: torch.bernoulli(probabilities()),
            "RANDINT": lambda: torch.randint(a, b, (n,)),
            "RANDPERM": lambda: torch.randperm(n)}[method]()


def exact(x):
    """As C reads a double, without the zeros that float.hex appends."""
    x = float(x)
    mantissa, exponent = x.hex().split("p")
    whole = x == int(x) and abs(x) < 2**53
    return str(int(x)) if whole else mantissa.rstrip("0").rstrip(".") + "p" + exponent


def print_draws():
    import torch
    code = {torch.float32: "f", torch.float64: "d", torch.int64: "q", torch.bool: "?"}
    for row in rows():
        total, ends = 0xCBF29CE484222325, (0, 0)
        for seed in SEEDS:
            torch.manual_seed(seed)
            t = draw(torch, *row)
            values = t.reshape(-1).tolist()
            for byte in struct.pack("<%d%s" % (len(values), code[t.dtype]), *values):
                total = (total ^ byte) * 0x100000001B3 % 2**64
            if seed == 42 and values:
                ends = values[0], values[-1]
        print(*row[:4], *map(float, row[4:]), *map(exact, ends), "0x%016x" % total)


def merge(files):
    print("/* What PyTorch 1.13.1 and 2.15.0 draw; made by random_golden.py.\n *\n"
          " * Method, layout, dtype, n, a, b; the first and last element with seed 42 in 1.13.1; the\n"
          " * checksum over all seeds, of all flavors or of each in the order of their enum. */\n"
          "/* clang-format off */")
    print("#define SEEDS \\\n    " + ", \\\n    ".join(
        ", ".join("0x%x" % (seed % 2**64) for seed in SEEDS[i:i + 5])
        for i in range(0, len(SEEDS), 5)))
    for lines in zip(*(open(name).read().splitlines() for name in files)):
        *row, _ = lines[0].split()
        row[2] = "HEED_" + row[2]
        sums = [line.split()[-1] for line in lines]
        alike = len(set(sums)) == 1
        print("%s(%s,\n      %s)" % ("ALIKE" if alike else "APART", ", ".join(row),
                                     sums[0] if alike else ", ".join(sums)))


if sys.argv[1] == "draw":
    print_draws()
else:
    merge(sys.argv[2:])
