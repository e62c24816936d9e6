"""PyTorch's names of functions, from the table of docs/pytorch.md."""
import re


class TorchNames:
    def __init__(self, root):
        with open(f"{root}/docs/pytorch.md", encoding="utf-8") as f:
            self.table = self.read(f.read())

    @staticmethod
    def read(page):
        """name -> torch's name, from the rows of the table."""
        table, prefix = {}, ""
        for line in page.split("\n"):
            cells = re.match(r"\| (.*) \| (.*) \|$", line)
            if cells is None:
                continue
            left, right = cells.groups()
            if re.fullmatch(r"torch(\.[\w.]+)?", left):
                prefix = left + "."
            same = {}  # "gelu" -> torch.nn.functional.gelu
            codes = re.findall(r"`([^`]*)`", left)
            for code in codes:
                module = prefix
                for word in code.split():  # in `F.silu softplus`, F is the module of both
                    head, _, last = re.sub(r"\(.*", "", word).rpartition(".")
                    head = re.sub(r"^(nn|optim|autograd)\b", r"torch.\1", head)
                    head = re.sub(r"^F$", "torch.nn.functional", head)
                    module = head + "." if head else module
                    is_tutorials = last[:1].isupper() and module == "torch."  # SelfAttention, GPT
                    same[last.replace("_", "").lower()] = (code, last if is_tutorials else module + last)
            names = [n for n in re.findall(r"heed_\w+", right) if n not in table]
            bare = {n: re.sub(r"(_dims?|_with|_into|_new)+$", "", n[5:]).replace("_", "") for n in names}
            table.update((n, same[bare[n]][1]) for n in names if bare[n] in same)
            # The others correspond in order, as a + b to heed_add, if their numbers show it.
            used = {same[bare[n]][0] for n in names if bare[n] in same}
            rest, others = [c for c in codes if c not in used], [n for n in names if n not in table]
            if not used or len(rest) == len(others):
                table.update(zip(others, rest))
        return table

    def of(self, block):
        """PyTorch's names for a block whose comment does not mention them."""
        if re.search(r"torch|PyTorch", block.text):
            return []
        found = []
        for kind, name in block.names:
            if kind == "function" and name in self.table and self.table[name] not in found:
                found.append(self.table[name])
        return found
