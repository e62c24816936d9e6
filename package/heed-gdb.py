"""Shows tensors in gdb: their shape, dtype and first elements.

    (gdb) source package/heed-gdb.py
    (gdb) print x
    $1 = tensor(shape=(2, 3), f32, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], requires_grad)
    (gdb) print/r *x        # all fields

It reads memory and calls no function, so it also works with core files. The program must be compiled with -g.
"""
import itertools
import struct

import gdb
import gdb.printing

MOST = 6  # elements shown
DTYPES = {"HEED_F32": ("f32", "f"), "HEED_F64": ("f64", "d"), "HEED_I64": ("i64", "q"), "HEED_BOOL": ("bool", "?")}


def text_of(element):
    if not isinstance(element, float):
        return str(element).lower()  # true, as in C
    text = f"{element:.6g}"
    return text + ".0" if text.lstrip("-").isdigit() else text


def tuple_of(numbers):
    return "(" + ", ".join(map(str, numbers)) + ("," if len(numbers) == 1 else "") + ")"


def contiguous_strides(shape):
    strides = [1]
    for size in reversed(shape[1:]):
        strides.insert(0, strides[0] * size)
    return strides[:len(shape)]


def elements(address, shape, strides, form):
    """The first elements in row-major order."""
    for index in itertools.islice(itertools.product(*map(range, shape)), MOST):
        at = address + sum(i * s for i, s in zip(index, strides)) * struct.calcsize(form)
        memory = gdb.selected_inferior().read_memory(at, struct.calcsize(form))
        yield struct.unpack("<" + form, bytes(memory))[0]


def describe(tensor):
    ndim, dtype = int(tensor["ndim"]), str(tensor["dtype"])
    if ndim > 8 or dtype not in DTYPES:
        return "<not a tensor>"
    shape = [int(tensor["shape"][i]) for i in range(ndim)]
    strides = [int(tensor["strides"][i]) for i in range(ndim)]
    numel, (name, form) = int(tensor["numel"]), DTYPES[dtype]
    parts = ["shape=" + tuple_of(shape)]
    if numel > 0 and any(s != t and size > 1 for s, t, size in zip(strides, contiguous_strides(shape), shape)):
        parts.append("strides=" + tuple_of(strides))
    parts.append(name)
    if int(tensor["storage"]) == 0:
        parts.append("the value has been freed")
    else:
        shown = [text_of(e) for e in elements(int(tensor["data"]), shape, strides, form)]
        parts.append("[" + ", ".join(shown + ["..."] * (numel > MOST)) + "]")
    if int(tensor["op"]) != 0:
        parts.append("made by " + tensor["op"]["name"].string(errors="replace"))
    elif tensor["requires_grad"]:
        parts.append("requires_grad")
    return "tensor(" + ", ".join(parts) + ")"


class TensorPrinter:
    def __init__(self, value):
        self.value = value

    def to_string(self):
        is_pointer = self.value.type.strip_typedefs().code == gdb.TYPE_CODE_PTR
        if is_pointer and int(self.value) == 0:
            return "NULL"
        try:
            return describe(self.value.dereference() if is_pointer else self.value)
        except gdb.MemoryError as error:
            return f"<not a tensor: {error}>"


def heed_printers(value):
    kind = value.type.strip_typedefs()
    if kind.code == gdb.TYPE_CODE_PTR:
        kind = kind.target().strip_typedefs()
    if kind.code == gdb.TYPE_CODE_STRUCT and kind.unqualified().tag == "heed_tensor" and kind.fields():
        return TensorPrinter(value)
    return None


gdb.printing.register_pretty_printer(gdb.current_objfile(), heed_printers, replace=True)
