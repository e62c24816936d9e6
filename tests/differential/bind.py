"""Heed through ctypes: types and functions are read from the public headers."""
import ctypes
import re
import subprocess

import numpy

BASIC = {"int": ctypes.c_int, "bool": ctypes.c_bool, "double": ctypes.c_double, "float": ctypes.c_float,
         "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "uint32_t": ctypes.c_uint32,
         "uint16_t": ctypes.c_uint16, "uint8_t": ctypes.c_uint8, "size_t": ctypes.c_size_t,
         "char": ctypes.c_char, "void": None}
NUMPY = {"f32": numpy.float32, "f64": numpy.float64, "i64": numpy.int64, "bool": numpy.bool_}
C_NAMES = {"f32": "float", "f64": "double", "i64": "int64_t", "bool": "bool"}
DTYPES = list(NUMPY)  # in the order of enum heed_dtype


class HeedError(Exception):
    """An error of Heed: its status and message."""


class Pointer:
    """A pointer that Heed returned, with the name of its variable in the traced program."""

    def __init__(self, address, name):
        self.address, self.name = address, name


class Parts:
    """An argument or option `heed_tensor **`: an array of `count` tensors that the function fills."""

    def __init__(self, count):
        self.count = count


# ---- reading the headers ----

def declarations(compiler):
    """The top-level declarations of heed.h, without those of system headers."""
    text = subprocess.run([compiler, "-E", "-Isrc", "src/heed.h"], capture_output=True, text=True,
                          check=True).stdout
    ours, kept = False, []
    for line in text.split("\n"):
        marker = re.match(r'# \d+ "([^"]*)"', line)
        if marker:
            ours = marker[1].startswith("src/")
        elif ours and not line.startswith("#pragma"):
            kept.append(line)
    text = re.sub(r"__attribute__\s*\(\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)\)", "", "\n".join(kept)).replace("_Bool", "bool")
    depth, start = 0, 0
    for i, c in enumerate(text):
        depth += (c == "{") - (c == "}")
        is_body = c == "}" and depth == 0 and re.match(r"\s*static inline", text[start:i])
        if is_body or (c == ";" and depth == 0):
            if not is_body:
                yield " ".join(text[start:i].split())
            start = i + 1


def split_type(declarator):
    """'const heed_tensor *x' -> ('const heed_tensor *', 'x')"""
    name = re.search(r"(\w+)$", declarator)[1]
    return re.sub(r"\s*\*", " *", declarator[:-len(name)]).strip(), name


class Heed:
    def __init__(self, library, compiler="cc"):
        self.dll = ctypes.CDLL(library)
        self.constants, self.structs, self.functions = {}, {}, {}
        self.trace, self.names = None, 0
        for declaration in declarations(compiler):
            self.read(declaration)
        self.scope_memory = self.structs["heed_scope"]()
        self.scope = Pointer(ctypes.addressof(self.scope_memory), "&scope")

    def read(self, text):
        enum = re.match(r"(?:typedef )?enum\s*\w*\s*\{(.*)\}\s*(\w*)$", text)
        struct = re.match(r"(?:typedef )?struct (\w+) \{(.*)\}\s*\w*$", text)
        function = re.match(r"([\w \*]+?\W)(heed_\w+)\((.*)\)$", text)
        if enum:
            value = -1
            for entry in filter(None, map(str.strip, enum[1].split(","))):
                name, _, given = entry.partition("=")
                value = eval(given, {}, self.constants) if given else value + 1
                self.constants[name.strip()] = value
            BASIC[enum[2]] = ctypes.c_int
        elif struct and not re.search(r"\{|unsigned char", struct[2]):  # the others are used through pointers only
            self.read_struct(struct[1], struct[2])
        elif function and not text.startswith("typedef"):
            self.read_function(function[1].strip(), function[2], function[3])

    def read_struct(self, name, body):
        fields, texts = [], {}
        for declaration in filter(None, map(str.strip, body.split(";"))):
            if "(*" in declaration:
                fields.append((re.search(r"\(\*(\w+)\)", declaration)[1], ctypes.c_void_p))
                continue
            first, *others = declaration.split(",")
            base = re.match(r"((?:const |struct )*\w+)", first)[1]
            for declarator in [first[len(base):], *others]:
                stars, field, size, bits = re.match(r"([\s*const]*?)\b(\w+)\s*(?:\[(.*)\]|: (\d+))?$",
                                                    declarator.strip()).groups()
                texts[field] = re.sub(r"\s+", " ", f"{base} {stars}").strip()
                kind = self.ctype(texts[field])
                if kind is None:
                    return  # contains a struct that is used through pointers only
                kind = kind * eval(size, {}, self.constants) if size else kind
                fields.append((field, kind, int(bits)) if bits else (field, kind))
        kind = type(name, (ctypes.Structure,), {"_fields_": fields, "texts": texts})
        self.structs[name] = kind

    def read_function(self, returned, name, parameters):
        if "..." in parameters or not hasattr(self.dll, name):
            return
        types = [] if parameters == "void" else [split_type(p) for p in re.split(r",\s*", parameters)]
        kinds = [self.ctype(t) for t, _ in types]
        if None in kinds:
            return
        function = getattr(self.dll, name)
        function.argtypes, function.restype = kinds, self.ctype(returned)
        self.functions[name] = function, returned, [t for t, _ in types]

    def ctype(self, text):
        text = re.sub(r"\s+", " ", re.sub(r"\b(const|struct)\b", "", text)).strip()
        if text == "char *":
            return ctypes.c_char_p
        return ctypes.c_void_p if "*" in text else self.structs.get(text) or BASIC.get(text)

    # ---- calling ----

    def convert(self, kind, value):
        """A Python value as an argument of the type `kind`."""
        if isinstance(value, Pointer):
            return value.address
        if isinstance(value, Parts):
            value.array = (ctypes.c_void_p * max(1, value.count))()
            return value.array
        if isinstance(value, dict):
            struct = self.structs[kind]
            made = struct()
            made.kept = []  # what pointers in it point to
            for field, part in value.items():
                part = self.convert(struct.texts[field], part)
                if isinstance(getattr(made, field), ctypes.Array):
                    getattr(made, field)[:] = part
                    continue
                made.kept.append(part)
                setattr(made, field, ctypes.cast(part, ctypes.c_void_p) if isinstance(part, ctypes.Array) else part)
            return made
        if kind in ("heed_shape", "heed_dims"):
            if len(value) > self.constants["HEED_MAX_DIMS"]:
                raise HeedError(self.constants["HEED_ERR_SHAPE"], "at most 8 dims fit into a shape")
            made = self.structs[kind]()
            setattr(made, "ndim" if kind == "heed_shape" else "count", len(value))
            for i, size in enumerate(value):
                (made.size if kind == "heed_shape" else made.dim)[i] = size
            return made
        if kind.endswith("*") and isinstance(value, (list, tuple, int, float)) and "void" not in kind:
            values = list(value) if isinstance(value, (list, tuple)) else [value]
            element = self.ctype(kind[:kind.rindex("*")].strip())
            return (element * max(1, len(values)))(*[self.convert(kind[:-1].strip(), v) for v in values])
        if isinstance(value, str):
            if kind == "heed_dtype":
                return DTYPES.index(value)
            return self.constants[value] if value in self.constants else value.encode()
        return value

    def text(self, kind, value):
        """The same argument in C."""
        if value is None:
            return "NULL"
        if isinstance(value, Pointer):
            return value.name
        if isinstance(value, Parts):
            return f"t{self.names}_parts"
        if isinstance(value, bool):
            return str(value).lower()
        if isinstance(value, dict):
            struct = self.structs[kind]
            return f"({kind}){{" + ", ".join(f".{k} = {self.text(struct.texts[k], v)}" for k, v in value.items()) + "}"
        if kind in ("heed_shape", "heed_dims"):
            sizes = ", ".join(map(str, value))
            return f"HEED_{kind[5:].upper()}({sizes})" if value else "HEED_SCALAR" if kind == "heed_shape" else "(heed_dims){0}"
        if isinstance(value, (list, tuple)) and not kind.endswith("*"):  # an array in a struct
            return "{" + ", ".join(self.text(kind, v) for v in value) + "}"
        if isinstance(value, (list, tuple)) or (kind.endswith("*") and isinstance(value, (int, float))):
            values = value if isinstance(value, (list, tuple)) else [value]
            element = kind[:-1].strip()
            return f"({element.replace('const', '').replace('  ', ' ').strip()}[]){{" + \
                ", ".join(self.text(element, v) for v in values) + "}"
        if isinstance(value, float):
            return {"inf": "INFINITY", "-inf": "-INFINITY", "nan": "NAN"}.get(repr(value), repr(value))
        if kind == "heed_dtype":
            return f"HEED_{value.upper()}"
        return value if value in self.constants else \
            f'"{value}"' if isinstance(value, str) else str(value)

    def call(self, name, *arguments):
        """heed_NAME(arguments). Tensors that it fills (Parts) follow the returned one. Raises HeedError.

        Arguments of a function with keyword arguments go into its struct; a dict at the end has those by name."""
        function, returned, kinds = self.functions[f"heed_{name}"]
        has_keywords = kinds == [f"heed_{name}_args"]
        if has_keywords:
            fields = self.structs[kinds[0]].texts
            *rest, last = arguments
            arguments = [dict(zip(fields, rest)) | last if isinstance(last, dict) else dict(zip(fields, arguments))]
        assert len(kinds) == len(arguments), name
        converted = [self.convert(kind, a) for kind, a in zip(kinds, arguments)]
        address = function(*converted)
        self.names += 1
        result = Pointer(address, f"t{self.names}") if returned.endswith("*") and "char" not in returned else address
        filled, has_parts = [], False
        for given in [b for a in arguments for b in (a.values() if isinstance(a, dict) else [a])]:
            if isinstance(given, Parts):
                has_parts = True
                filled += [Pointer(a, f"t{self.names}_parts[{i}]") for i, a in enumerate(given.array) if a][:given.count]
                if self.trace is not None:
                    self.trace.append(f"heed_tensor *t{self.names}_parts[{max(1, given.count)}];")
        if self.trace is not None:
            left = f"{returned}{result.name} = " if isinstance(result, Pointer) else ""
            called = f"(heed_{name})" if has_keywords else f"heed_{name}"
            self.trace.append(f"{left}{called}({', '.join(map(self.text, kinds, arguments))});")
        if self.dll.heed_error_pending():
            status = self.dll.heed_error()
            text = self.functions["heed_error_message"][0]().decode()
            raise HeedError(status, text)
        if returned.endswith("*") and address is None:
            return None
        if has_parts:
            return filled if returned == "int" else [result, *filled]
        return result

    # ---- tensors ----

    def begin(self):
        self.trace, self.names = None, 0
        self.call_quietly("scope_begin", self.scope)

    def end(self):
        self.dll.heed_error()
        self.call_quietly("scope_end", self.scope)

    def call_quietly(self, name, *arguments):
        """A call that is omitted from the traced program."""
        trace, self.trace = self.trace, None
        try:
            return self.call(name, *arguments)
        finally:
            self.trace = trace

    def tensor(self, array):
        """A tensor with the values of a numpy array."""
        dtype = DTYPES[[numpy.dtype(d) for d in NUMPY.values()].index(array.dtype)]
        flat = numpy.ascontiguousarray(array).reshape(-1)
        made = self.call_quietly("from_values", Pointer(flat.ctypes.data, ""), flat.nbytes, array.shape, dtype)
        if self.trace is not None:
            values = ", ".join(self.text("double", v) for v in flat.tolist())
            shape = self.text("heed_shape", array.shape)
            self.trace.append(f"heed_tensor *{made.name} = heed_from_{dtype}(({C_NAMES[dtype]}[]){{{values}}}, {shape});")
        return made

    def struct(self, pointer, kind="heed_tensor"):
        return self.structs[kind].from_address(pointer.address)

    def shape(self, pointer):
        t = self.struct(pointer)
        return tuple(ctypes.cast(t.shape, ctypes.POINTER(ctypes.c_int64))[i] for i in range(t.ndim))

    def array(self, pointer):
        """The values of a tensor as a numpy array."""
        values = numpy.empty(self.shape(pointer), NUMPY[DTYPES[self.struct(pointer).dtype]])
        self.call_quietly("copy_out", pointer, Pointer(values.ctypes.data, ""), values.size)
        return values

    def grad(self, pointer):
        address = self.struct(pointer).grad
        return self.array(Pointer(address, "")) if address else None
