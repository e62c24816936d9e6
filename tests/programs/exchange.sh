#!/bin/sh
# Tests that files can be exchanged with PyTorch in both directions. Needs Python with PyTorch, numpy and
# safetensors; not part of `make test`, which uses stored files (fixtures/make_safetensors.py).
#   tests/programs/exchange.sh [PYTHON]
set -eu
cd "$(dirname "$0")/../.."
python=${1:-python3}
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
make -s build/libheed.a

cat > "$scratch/write.c" << 'END'
#include <heed.h>

/* Writes a module, tensors of every dtype, and metadata; then reads what Python wrote. */
int main(int argc, char **argv)
{
    const heed_metadata about[] = {{"format", "pt"}, {"a\"\\\n\x01", "\xe4\xb8\xad\xf0\x9f\x98\x80\x7f"}, {NULL, NULL}};
    heed_scope scope;
    heed_on_error(heed_die);
    heed_scope_begin(&scope);
    heed_manual_seed(42);
    struct heed_self_attention *m = heed_self_attention_new(8, 0, 1);
    heed_manual_seed(1);
    heed_tensor *x = heed_randn(HEED_SHAPE(5, 8), HEED_F32);
    heed_tensor *y = heed_self_attention_forward(m, x, NULL);
    heed_tensor *tensors[] = {x, y, heed_transpose(heed_to(x, HEED_F64), 0, 1), heed_arange(-2, 3, 1, HEED_I64),
                              heed_gt_scalar(x, 0), heed_scalar(0.5, HEED_F32), heed_zeros(HEED_SHAPE(0, 3), HEED_F32)};
    const char *names[] = {"x", "y", "xt \xc3\xa9", "i64", "bool", "scalar", "empty"};
    if (argc == 1) {
        heed_save_state_dict(m, "module.safetensors", NULL);
        heed_save_file((heed_tensor_list){7, tensors, names}, "tensors.safetensors", about);
    } else {
        heed_load_state_dict(m, "python.safetensors");
        heed_safetensors *file = heed_safetensors_open("results.safetensors");
        if (!heed_allclose(heed_self_attention_forward(m, x, NULL), heed_safetensors_tensor(file, "y"), 1e-5, 1e-6, false)) {
            fputs("a module trained by PyTorch gives different results here\n", stderr);
            return 1;
        }
        if (!heed_equal(heed_safetensors_tensor(file, "xt"), heed_to(heed_transpose(x, 0, 1), HEED_F64))) {
            fputs("numpy's array differs here\n", stderr);
            return 1;
        }
        heed_safetensors_close(file);
    }
    heed_scope_end(&scope);
    heed_module_free(m);
    return 0;
}
END
${CC:-cc} -std=c11 -Isrc "$scratch/write.c" build/libheed.a -lm -pthread -o "$scratch/write"

cat > "$scratch/exchange.py" << 'END'
import safetensors.numpy
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file, load_model


class SelfAttention(torch.nn.Module):
    def __init__(self, d):
        super().__init__()
        self.W_q, self.W_k, self.W_v = (torch.nn.Linear(d, d, bias=False) for _ in range(3))

    def forward(self, x):
        q, k, v = self.W_q(x), self.W_k(x), self.W_v(x)
        return torch.softmax(q @ k.T / q.size(-1) ** 0.5, -1) @ v


torch.manual_seed(42)
expected, model = SelfAttention(8), SelfAttention(8)
print(model.load_state_dict(load_file("module.safetensors")))
load_model(model, "module.safetensors")
for name, value in expected.state_dict().items():
    assert torch.equal(value, model.state_dict()[name]), name
t = load_file("tensors.safetensors")
torch.manual_seed(1)
x = torch.randn(5, 8)
assert torch.equal(t["x"], x)
assert torch.equal(t["xt é"], x.double().T) and t["xt é"].dtype == torch.float64
assert torch.equal(t["i64"], torch.arange(-2, 3))
assert torch.equal(t["bool"], x > 0)
assert t["scalar"].shape == () and t["scalar"] == 0.5 and t["empty"].shape == (0, 3)
assert torch.allclose(t["y"], expected(x), 1e-5, 1e-6)
xt = safetensors.numpy.load_file("tensors.safetensors")["xt é"]
assert torch.equal(torch.from_numpy(xt), x.double().T)
with safe_open("tensors.safetensors", "pt") as f:
    assert f.metadata() == {"format": "pt", "a\"\\\n\x01": "中😀\x7f"}
    assert sorted(f.keys()) == sorted(t)

optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    model(x).square().sum().backward()
    optimizer.step()
save_file(model.state_dict(), "python.safetensors")
safetensors.numpy.save_file({"y": model(x).detach().numpy(), "xt": xt}, "results.safetensors")
END

(cd "$scratch" && ./write && "$python" exchange.py && ./write back)
echo "files go to PyTorch and come back"
