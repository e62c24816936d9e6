"""Tests the map of a GPT: all it shows against the same model without a browser, and against its own formulas."""

import json
import os
import struct
import subprocess

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from browser import check_axe
from helpers import half_a_unit, number, open_page, set_state, show

TEXT = "Eva has a drum. Who has the drum? "
SECTION = "page.panels.find(({ root }) => root.id === 'panel-gpt').section"


def wait_for(page, text):
    """Waits until the map shows this text."""
    page.wait(f"{SECTION}.read() !== null && {SECTION}.read().tokens.join('') === arguments[0]", text, seconds=20)


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
            assert row[int(i)] < 0.0005 if text == "<0.1 %" else abs(number(text.rstrip(" %")) - 100 * row[int(i)]) <= 0.05 + 1e-9, (text, row[int(i)])
            assert text != "0.0 %"
        assert "<0.1 %" in [text for _, text, _ in found]
    set_state(page, gpt_at=0)


def check_stream_table(page):
    set_state(page, gpt_box="stream.3", gpt_at=9)
    found = page.run("[...document.querySelectorAll('.gpt-sum tbody tr')].map((tr) => [...tr.cells].slice(1).map((td) => td.textContent))")
    parts = ["wte", "wpe", "h.0.attn", "h.0.mlp", "h.1.attn"]
    assert len(found) == len(parts), found
    tokens = page.run(f"{SECTION}.about().tokens")
    for i, (part, cells) in enumerate(zip(parts, found)):
        expected = [values(page, f"norm.{part}")[1][8]]
        if i > 0:
            expected += [values(page, f"norm.stream.{i - 1}")[1][8], 100 * values(page, f"guess_share.{i - 1}")[1][8]]
            guess = tokens[int(values(page, f"guess.{i - 1}")[1][8])]
            assert cells[2] == guess.replace(" ", "␣").replace("\n", "⏎"), (cells, guess)
        shown = [cells[0], cells[1], cells[3].rstrip(" %")] if i > 0 else cells[:1]
        for text, value in zip(shown, expected, strict=True):
            assert 0 < value < 0.05 if text == "<0.1" else 99.95 < value < 100 if text == ">99.9" else abs(number(text) - value) <= half_a_unit(text) + 1e-6, (part, cells, expected)
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
    chips = [b.text for b in page.driver.find_elements(By.CSS_SELECTOR, ".gpt-parts button")]
    assert len(chips) == 6, chips
    page.press("[data-part='k']", Keys.ENTER)
    assert page.run("document.activeElement.dataset.part") == "k" == page.run("page.state.gpt_part")
    assert page.run("document.querySelectorAll('.heat').length") == 2
    page.press(".heat-box", Keys.HOME, Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_RIGHT)
    (_, count, width), k = values(page, "h.0.k")
    said = page.text(".heat-reading")
    assert said.startswith(f"“m” ({count - 2}), "), said
    value = k[(count - 3) * width + 1]
    assert f"number 2 of {width}" in said and abs(number(said.split(": ")[1]) - value) <= half_a_unit(said.split(": ")[1]), (said, value)
    ActionChains(page.driver).send_keys(Keys.ENTER).perform()
    assert page.run("page.state.gpt_at") == count - 2
    assert page.text(".heat-rows .chosen") == TEXT[count - 3]
    assert page.run("document.activeElement.className") == "heat-box"
    page.driver.execute_script("document.querySelector('.gpt-detail details').open = true")
    page.wait("document.querySelectorAll('.gpt-detail details td[data-index]').length === arguments[0]", 2 * width)
    cells = page.run("[...document.querySelectorAll('.gpt-detail details table')].map((t) => [...t.querySelectorAll('td[data-index]')].map((td) => td.textContent))")
    for head, texts in enumerate(cells):
        row = k[(head * count + count - 3) * width:][:width]
        assert all(abs(number(t) - v) <= half_a_unit(t) + 1e-9 for t, v in zip(texts, row, strict=True)), (texts, row)
    page.driver.execute_script("document.querySelector('.gpt-detail details').open = false")


def check_colours(page):
    """Blue above 0, orange below, nothing where the mask blocks; the colours follow the theme."""
    set_state(page, gpt_box="h.0.attn", gpt_part="percent")
    pixels = """(({ width, height }, copy) => {
        [copy.width, copy.height] = [width, height];
        const context = copy.getContext("2d", { willReadFrequently: true });
        context.drawImage(document.querySelector(".heat canvas"), 0, 0);
        return Array.from(context.getImageData(0, 0, width, height).data);
    })(document.querySelector(".heat canvas"), document.createElement("canvas"))"""
    light = page.run(pixels)
    width = page.run("document.querySelector('.heat canvas').width")
    assert len({tuple(light[4 * (r * width + c):][:3]) for r in range(width) for c in range(r + 1, width)}) == 1
    set_state(page, theme="dark")
    assert sum(page.run(pixels)[:3]) < sum(light[:3]) or page.run(pixels) != light
    set_state(page, theme="", gpt_box="wte", gpt_part="")
    (count, width), wte = values(page, "wte")
    seen = page.run(pixels)
    for i in range(count * width):
        red, _, blue = seen[4 * i:][:3]
        assert abs(wte[i]) < 0.02 or (blue > red) == (wte[i] > 0), (i, wte[i], red, blue)


def check_writing(page, build, model):
    """Pressing a token writes it after the chosen one; typing; new lines; more than the model sees."""
    set_state(page, gpt_text=TEXT, gpt_at=0, gpt_box="h.1.attn")
    wait_for(page, TEXT)
    tokens = page.run(f"{SECTION}.about().tokens")
    text = TEXT
    for _ in range(4):
        best = shown_bars(page)[0][0]
        page.find(".gpt-next button").click()
        text += tokens[int(best)]
        wait_for(page, text)
    assert text == TEXT + "Eva.", text
    check_logits(page, build, model, text)
    assert page.run("new URLSearchParams(location.hash.slice(1)).get('gpt_text')") == text
    set_state(page, gpt_at=3)  # after "Eva": what follows is removed
    page.find(f".gpt-next button[data-id='{tokens.index(chr(32))}']").click()
    wait_for(page, "Eva ")
    field = page.find("#gpt-text")
    field.clear()
    field.send_keys("Leo.\n")
    wait_for(page, "Leo.\n")
    check_logits(page, build, model, "Leo.\n")
    long = "Mia has a rope. She gives the rope to Ben. Mia visits Leo. Who has the rope? "
    set_state(page, gpt_text=long)
    wait_for(page, long[-64:])
    assert f"{len(long) - 64}" in page.text(".gpt .note")
    check_logits(page, build, model, long[-64:])
    set_state(page, gpt_text="A")
    wait_for(page, "A")
    check_sums(page)
    set_state(page, gpt_text="Zoë?")
    page.wait("document.querySelector('.gpt .problem') !== null")
    assert page.text(".gpt .problem").startswith("The model does not know Z ë. It knows these characters: ⏎ ␣ . ? A"), page.text(".gpt .problem")
    set_state(page, gpt_text="")
    page.wait("document.querySelector('.gpt .problem')?.textContent.startsWith('Write at least one')")
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
    refused(page, write("cut.safetensors", data[:-1000]), "")
    header = b'{"W_q.weight":{"dtype":"F32","shape":[2,2],"data_offsets":[0,16]}}      '
    refused(page, write("attention.safetensors", struct.pack("<Q", len(header)) + header + bytes(16)), "not a file written by gpt train")
    refused(page, write("large.safetensors", data[:8 + length].replace(b'"n_embd":"32"', b'"n_embd":"64"') + data[8 + length:]), "damaged")

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
    page.find(".gpt-next button").click()
    page.wait(f"{SECTION}.read().tokens.length === 6")


def check_places(driver, path):
    """Links restore everything; nothing is wider than the page; the map stands on one screen."""
    for width, height, language in ((1366, 768, "en"), (1400, 900, "fr"), (1104, 800, "de"), (899, 900, "en"), (390, 844, "de"), (360, 740, "fr")):
        page = open_page(driver, path, width=width, height=height, fragment=f"#tab=gpt&lang={language}&gpt_box=h.0.attn&gpt_part=q&gpt_at=4&"
                         "gpt_text=Leo+meets+Ann.%0A")
        wait_for(page, "Leo meets Ann.\n")
        assert page.run("document.documentElement.scrollWidth <= innerWidth"), width
        assert page.text(".gpt-parts [aria-pressed=true]") == "q" and page.text(".heat-rows .chosen") == "␣"
        assert page.run("document.querySelector('.gpt-box[aria-pressed=true]').dataset.box") == "h.0.attn"
        page.wait("document.querySelector('.gpt-sheet svg') !== null")
        places = page.run("""[...document.querySelectorAll(".gpt-box")].map((b) => { const r = b.getBoundingClientRect();
            return [b.dataset.box, r.left, r.top, r.right, r.bottom]; })""")
        for i, (a, left, top, right, bottom) in enumerate(places):
            assert 0 <= left and right <= width and bottom - top >= 24 and right - left >= 24, (width, places[i])
            for b, l2, t2, r2, b2 in places[i + 1:]:
                assert right <= l2 or r2 <= left or bottom <= t2 or b2 <= top, (width, a, b)
        assert width < 1300 or max(p[4] for p in places) < 0.53 * height, places
        cut = page.run("""[...document.querySelectorAll(".gpt-box > span, .gpt-label")].filter((e) => e.scrollWidth > e.clientWidth + 1)
            .map((e) => e.textContent)""")
        assert cut == [], (width, cut)
        for theme in ("light", "dark") if width in (1366, 390) else ():
            set_state(page, theme=theme)
            check_axe(page)
    for lang in ("en", "de", "fr"):
        page = open_page(driver, path, width=1366, height=768, fragment=f"#tab=gpt&lang={lang}")
        wait_for(page, TEXT)
        for present in (False, True):
            show(page, "gpt", present=present, gpt_box="", gpt_part="")
            tops = page.run("[...document.querySelectorAll('.heat')].map((e) => e.getBoundingClientRect().top)")
            assert len(tops) == 2 and tops[0] == tops[1], (present, tops)
            for box, part in (("h.1.attn", ""), ("h.0.attn", "q")):
                show(page, "gpt", gpt_box=box, gpt_part=part)
                page.wait("document.querySelector('.gpt-next li') !== null")
                bottoms = page.run("[...document.querySelectorAll('.heat, .gpt-about, .gpt-next')].map((e) => [e.className, e.getBoundingClientRect().bottom])")
                assert len(bottoms) == 4 and all(bottom <= 768 for _, bottom in bottoms), (present, box, lang, bottoms)


def check(driver, path, folder):
    build = os.path.dirname(os.path.dirname(os.path.abspath(path)))
    model = f"{build}/page_gpt.safetensors"
    page = open_page(driver, path, fragment="#tab=gpt")
    wait_for(page, TEXT)
    check_logits(page, build, model, TEXT)
    check_sums(page)
    check_formulas(page, weights_of(model))
    check_counts(page)
    check_bars(page)
    check_stream_table(page)
    check_keys(page)
    check_colours(page)
    check_writing(page, build, model)
    check_files(page, build, model, folder)
    page.check_quiet()
    check_places(driver, path)
    print("the map of a GPT: as the program computes it")
