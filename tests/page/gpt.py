"""Tests the map of a GPT: all it shows against the same model without a browser, and against its own formulas."""

import json
import os
import struct
import subprocess

from selenium.webdriver.common.keys import Keys

from attention import half_a_unit, number, set_state, show

TEXT = "Eva has a drum. Who has the drum? "
SECTION = "page.panels.find(({ root }) => root.id === 'panel-gpt').section"


def wait_for(page, text):
    """Waits until the map shows this text."""
    page.wait(f"{SECTION}.read() !== null && {SECTION}.read().tokens.join('') === arguments[0]", text)


def values(page, part):
    """The shape and the numbers of a part that the map shows."""
    found = page.run(f"(({{ shape, values }}) => ({{ shape, values: Array.from(values) }}))({SECTION}.read().parts[arguments[0]])", part)
    return found["shape"], found["values"]


def rows(page, part):
    (_, columns), found = values(page, part)
    return [found[i:i + columns] for i in range(0, len(found), columns)]


def native_logits(build, model, text):
    """The bits of the logits of gpt_forward in a program, a list for each token."""
    out = subprocess.run([f"{build}/page_logits", model, text], check=True, capture_output=True, text=True,
                         env=dict(os.environ, HEED_ISA="baseline"))
    return [[int(bits, 16) for bits in line.split()] for line in out.stdout.splitlines()]


def check_logits(page, build, model, text):
    found = [[struct.unpack("<I", struct.pack("<f", x))[0] for x in row] for row in rows(page, "logits")]
    expected = native_logits(build, model, text)
    assert found == expected, (text, [(i, sum(a != b for a, b in zip(f, e))) for i, (f, e) in enumerate(zip(found, expected))])


def check_sums(page):
    """The residual stream is the sum of its parts, bit by bit, and has the lengths that are shown."""
    bad = page.run(f"""(() => {{
        const {{ parts }} = {SECTION}.read(), {{ layers }} = {SECTION}.about(), bad = [];
        const add = (to, from, part) => parts[to].values.forEach((sum, i) =>
            Math.fround(parts[from].values[i] + parts[part].values[i]) === sum || bad.push([to, i]));
        add("stream.0", "wte", "wpe");
        for (let i = 0; i < layers; i++) {{
            add(`stream.${{2 * i + 1}}`, `stream.${{2 * i}}`, `h.${{i}}.attn`);
            add(`stream.${{2 * i + 2}}`, `stream.${{2 * i + 1}}`, `h.${{i}}.mlp`);
        }}
        for (const [name, {{ values }}] of Object.entries(parts).filter(([name]) => name.startsWith("norm."))) {{
            const {{ shape: [, width], values: x }} = parts[name.slice(5)];
            values.forEach((norm, r) => Math.abs(norm - Math.hypot(...x.subarray(r * width, (r + 1) * width))) < 1e-5 * norm + 1e-7 ||
                bad.push([name, r]));
        }}
        return bad;
    }})()""")
    assert bad == [], bad


def check_formulas(page, weights):
    """Each box from the box before it, in double precision; `weights`: of the model, by name."""
    bad = page.run(f"""((weights) => {{
        const {{ parts, ids, tokens }} = {SECTION}.read(), {{ layers, heads, width: C, vocab }} = {SECTION}.about(), T = tokens.length;
        const bad = [], x = (name) => parts[name].values;
        const near = (name, i, value) => Math.abs(x(name)[i] - value) <= 2e-5 * (1 + Math.abs(value)) || bad.push([name, i, x(name)[i], value]);
        const W = (name) => weights[name + ".weight"], b = (name) => weights[name + ".bias"];
        const linear = (name, from, n, m, of) => {{ // part `from` (T, n) -> part `name` (T, m)
            for (let r = 0; r < T; r++) for (let j = 0; j < m; j++) {{
                let sum = b(of)?.[j] ?? 0;
                for (let k = 0; k < n; k++) sum += x(from)[r * n + k] * W(of)[j * n + k];
                near(name, r * m + j, sum);
            }}
        }};
        const norm = (name, from, of) => {{
            for (let r = 0; r < T; r++) {{
                const row = Array.from(x(from).subarray(r * C, (r + 1) * C)), mean = row.reduce((a, v) => a + v, 0) / C;
                const deviation = Math.sqrt(row.reduce((a, v) => a + (v - mean) ** 2, 0) / C + 1e-5);
                row.forEach((v, j) => near(name, r * C + j, (v - mean) / deviation * W(of)[j] + b(of)[j]));
            }}
        }};
        ids.forEach((id, r) => {{
            for (let j = 0; j < C; j++) {{
                near("wte", r * C + j, W("transformer.wte")[id * C + j]);
                near("wpe", r * C + j, W("transformer.wpe")[r * C + j]);
            }}
        }});
        for (let i = 0; i < layers; i++) {{
            const part = (name) => `h.${{i}}.${{name}}`, of = (name) => `transformer.h.${{i}}.${{name}}`, E = C / heads;
            norm(part("ln_1"), `stream.${{2 * i}}`, of("ln_1"));
            ["q", "k", "v"].forEach((name, which) => {{ // (heads, T, E), of rows of c_attn
                for (let h = 0; h < heads; h++) for (let r = 0; r < T; r++) for (let e = 0; e < E; e++) {{
                    const row = which * C + h * E + e;
                    let sum = b(of("attn.c_attn"))[row];
                    for (let k = 0; k < C; k++) sum += x(part("ln_1"))[r * C + k] * W(of("attn.c_attn"))[row * C + k];
                    near(part(name), (h * T + r) * E + e, sum);
                }}
            }});
            const dot = (h, r, s) => {{
                let sum = 0;
                for (let e = 0; e < E; e++) sum += x(part("q"))[(h * T + r) * E + e] * x(part("k"))[(h * T + s) * E + e];
                return Math.exp(sum / Math.sqrt(E));
            }};
            for (let h = 0; h < heads; h++) for (let r = 0; r < T; r++) {{
                const seen = Array.from({{ length: r + 1 }}, (_, s) => dot(h, r, s)), total = seen.reduce((a, v) => a + v, 0);
                for (let s = 0; s < T; s++) near(part("percent"), (h * T + r) * T + s, s <= r ? seen[s] / total : 0);
                for (let e = 0; e < E; e++) {{
                    let sum = 0;
                    for (let s = 0; s <= r; s++) sum += seen[s] / total * x(part("v"))[(h * T + s) * E + e];
                    near(part("mixed"), r * C + h * E + e, sum);
                }}
            }}
            linear(part("attn"), part("mixed"), C, C, of("attn.c_proj"));
            norm(part("ln_2"), `stream.${{2 * i + 1}}`, of("ln_2"));
            linear(part("fc"), part("ln_2"), C, 4 * C, of("mlp.c_fc"));
            x(part("fc")).forEach((v, at) => near(part("act"), at, v / 2 * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)))));
            linear(part("mlp"), part("act"), 4 * C, C, of("mlp.c_proj"));
        }}
        norm("ln_f", `stream.${{2 * layers}}`, "transformer.ln_f");
        linear("logits", "ln_f", C, vocab, "lm_head");
        for (let r = 0; r < T; r++) {{
            const row = Array.from(x("logits").subarray(r * vocab, (r + 1) * vocab), Math.exp), total = row.reduce((a, v) => a + v, 0);
            row.forEach((v, j) => near("shares", r * vocab + j, v / total));
            const last = x(`guess.${{2 * layers}}`)[r];
            near(`guess_share.${{2 * layers}}`, r, row[last] / total);
            row.every((v) => v <= row[last]) || bad.push(["guess", r]);
        }}
        return bad.slice(0, 5);
    }})(arguments[0])""", weights)
    assert bad == [], bad


def weights_of(path):
    """{name: numbers} of an f32 .safetensors file."""
    with open(path, "rb") as file:
        data = file.read()
    length, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + length])
    header.pop("__metadata__")
    return {name: struct.unpack_from(f"<{(end - begin) // 4}f", data, 8 + length + begin)
            for name, entry in header.items() if entry["dtype"] == "F32" for begin, end in [entry["data_offsets"]]}


def check_counts(page):
    """The learned numbers of all boxes are those of the model."""
    total = 0
    for box in page.run("[...document.querySelectorAll('.gpt-box')].map((b) => b.dataset.box)"):
        set_state(page, gpt_box=box)
        found = page.run("[...document.querySelectorAll('.gpt-about p')].map((p) => p.textContent).find((t) => t.startsWith('Learned numbers'))")
        if found is not None:
            formula, result = found.removeprefix("Learned numbers: ").split(" = ")
            expected = eval(formula.replace("×", "*"))  # of numbers, + and * only
            assert int(result.replace(",", "")) == expected, found
            total += expected
    assert total == page.run(f"{SECTION}.about().parameters"), total


def shown_bars(page):
    return page.run("""[...document.querySelectorAll(".gpt-next li")].map((li) => [li.querySelector("button").dataset.id,
        li.querySelector(".gpt-share").textContent, li.querySelector(".gpt-bar span").getBoundingClientRect().width /
        li.querySelector(".gpt-bar").getBoundingClientRect().width])""")


def check_bars(page):
    """The ten likeliest tokens after the chosen one, the likeliest first."""
    shares = rows(page, "shares")
    for at in (0, 5):
        set_state(page, gpt_at=at)
        row = shares[at - 1]
        best = sorted(range(len(row)), key=lambda i: (-row[i], i))[:10]
        found = shown_bars(page)
        assert [int(i) for i, _, _ in found] == best, (found, best)
        for i, text, width in found:
            assert abs(width - row[int(i)]) < 0.02, (text, width)
            assert row[int(i)] < 0.0005 if text == "<0.1%" else abs(number(text.rstrip(" %")) - 100 * row[int(i)]) <= 0.05 + 1e-9, (text, row[int(i)])
            assert text != "0.0%"
        assert "<0.1%" in [text for _, text, _ in found]
    set_state(page, gpt_at=0)


def check_keys(page):
    """Arrows walk over the boxes, and over a matrix, whose numbers are said."""
    set_state(page, gpt_box="text", gpt_part="")
    page.press("[data-box='text']", Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
    assert page.run("page.state.gpt_box") == "wpe" == page.run("document.activeElement.dataset.box")
    assert page.run("document.querySelectorAll('.gpt-box[tabindex=\"0\"]').length") == 1
    page.press("[data-box='wpe']", Keys.END)
    assert page.run("page.state.gpt_box") == "logits"
    set_state(page, gpt_box="h.0.attn")
    page.press("[data-part='k']", Keys.ENTER)
    assert page.run("[document.activeElement.dataset.part, page.state.gpt_part]") == ["k", "k"]
    page.press(".heat-box", Keys.HOME, Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_RIGHT)
    (_, count, width), k = values(page, "h.0.k")
    said = page.text(".heat-reading")
    value = k[(count - 3) * width + 1]
    assert f"number 2 of {width}" in said and abs(number(said.split(": ")[1]) - value) <= half_a_unit(said.split(": ")[1]), (said, value)
    page.keys(Keys.ENTER)
    assert page.run("page.state.gpt_at") == count - 2 and page.text(".heat-rows .chosen") == TEXT[count - 3]
    page.driver.execute_script("document.querySelector('.gpt-detail details').open = true")
    page.wait("document.querySelectorAll('.gpt-detail details td[data-index]').length === arguments[0]", 2 * width)
    cells = page.run("[...document.querySelectorAll('.gpt-detail details table')].map((t) => [...t.querySelectorAll('td[data-index]')].map((td) => td.textContent))")
    for head, texts in enumerate(cells):
        row = k[(head * count + count - 3) * width:][:width]
        assert all(abs(number(t) - v) <= half_a_unit(t) + 1e-9 for t, v in zip(texts, row, strict=True)), (texts, row)
    page.driver.execute_script("document.querySelector('.gpt-detail details').open = false")


def check_writing(page, build, model):
    """Pressing a token writes it after the chosen one; typing; more than the model sees; what it does not know."""
    set_state(page, gpt_text=TEXT, gpt_at=0, gpt_box="h.1.attn")
    wait_for(page, TEXT)
    tokens = page.run(f"{SECTION}.about().tokens")
    text = TEXT
    for _ in range(4):
        best = shown_bars(page)[0][0]
        page.find(".gpt-next button").click()
        text += tokens[int(best)]
        wait_for(page, text)
    assert text == TEXT + "Eva." == page.run("new URLSearchParams(location.hash.slice(1)).get('gpt_text')"), text
    check_logits(page, build, model, text)
    set_state(page, gpt_at=3)  # after "Eva": what follows is removed
    page.find(f".gpt-next button[data-id='{tokens.index(chr(32))}']").click()
    wait_for(page, "Eva ")
    field = page.find("#gpt-text")
    field.clear()
    field.send_keys("Leo.\n")
    wait_for(page, "Leo.\n")
    long = "Mia has a pizza. She gives the pizza to Ben. Mia visits Leo. Who has the pizza? "
    set_state(page, gpt_text=long)
    wait_for(page, long[-64:])
    assert f"{len(long) - 64}" in page.text(".gpt .note")
    check_logits(page, build, model, long[-64:])
    assert set("abcdefghijklmnopqrstuvwxyz") <= set(page.run(f"{SECTION}.about().tokens")), "it can read any word"
    for text, sentence in (("Zoë?", "The model does not know Z ë. It knows these characters: ⏎ ␣ . ? A"), ("", "Write at least one")):
        set_state(page, gpt_text=text)
        page.wait("document.querySelector('.gpt .problem')?.textContent.startsWith(arguments[0])", sentence)
    set_state(page, gpt_text=TEXT)
    wait_for(page, TEXT)
    assert page.run("document.querySelector('.gpt .problem')") is None


def open_file(page, path):
    page.driver.execute_script("document.querySelector('.gpt > details').open = true")
    page.find("#gpt-file").send_keys(os.path.abspath(path))


def refused(page, path, why):
    """A file is refused with a sentence, and the model before stays."""
    before = page.run(f"{SECTION}.about().parameters")
    open_file(page, path)
    page.wait("document.querySelector('.gpt .problem')?.textContent.includes(arguments[0])", os.path.basename(path))
    assert why in page.text(".gpt .problem"), page.text(".gpt .problem")
    assert page.run(f"{SECTION}.about().parameters") == before
    set_state(page, gpt_text=TEXT + "E")
    wait_for(page, TEXT + "E")
    set_state(page, gpt_text=TEXT)
    wait_for(page, TEXT)


def check_files(page, build, model, folder):
    with open(model, "rb") as file:
        data = file.read()
    length, = struct.unpack_from("<Q", data)

    def write(name, content):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
        return os.path.join(folder, name)

    refused(page, write("noise.safetensors", bytes(range(256)) * 20), "safetensors")
    refused(page, write("large.safetensors", data[:8 + length].replace(b'"n_embd":"32"', b'"n_embd":"64"') + data[8 + length:]), "damaged")
    at = 8 + length + json.loads(data[8:8 + length])["transformer.h.0.attn.c_attn.bias"]["data_offsets"][0]
    refused(page, write("nan.safetensors", data[:at] + b"\xc0\x7f" * 2 + data[at + 4:]), "has a NaN")  # as bfloat16 and as f32

    text = write("text", b"Ann is in Kiel. She gives the rope to Dan.\n" * 300)
    for name, flags in (("other", ["--n-layer", "3", "--n-head", "1"]), ("pairs", ["--level", "bpe", "--vocab", "300", "--n-layer", "1"])):
        other = os.path.join(folder, f"{name}.safetensors")
        subprocess.run([f"{build}/gpt", "train", "--text", text, "--n-embd", "24", "--context", "16", "--steps", "2", "--warmup", "1",
                        "--save", other, *flags], check=True, stderr=subprocess.DEVNULL)
        open_file(page, other)
        page.wait("document.querySelector('.gpt-model').textContent.startsWith(arguments[0])", f"{name}.safetensors")
        written = "Ann is in Kiel."
        set_state(page, gpt_text=written)
        page.wait(f"{SECTION}.read()?.tokens.join('') === 'Ann is in Kiel.'")
        check_logits(page, build, other, written)
        check_sums(page)
        check_counts(page)
        boxes = page.run("document.querySelectorAll('.gpt-box').length")
        assert boxes == 6 + 6 * page.run(f"{SECTION}.about().layers"), boxes


def check(page, build, folder):
    model = f"{build}/page_gpt.safetensors"
    show(page, "gpt")
    wait_for(page, TEXT)
    check_logits(page, build, model, TEXT)
    check_sums(page)
    check_formulas(page, weights_of(model))
    check_counts(page)
    check_bars(page)
    check_keys(page)
    check_writing(page, build, model)
    check_files(page, build, model, folder)
    page.check_quiet()
    print("the map of a GPT: as the program computes it")
