"""Looks at every tab of the page at five sizes and in three languages: texts are inside their boxes and do not cover each
other, everything is translated, and what belongs together is on one screen. axe-core finds nothing serious."""

from attention import TABS, set_state, show
from browser import check_axe

# The languages, and the sizes of each; the page is loaded once for each language.
SIZES = {"en": ((1920, 1080), (1400, 900), (1366, 768), (820, 1180), (390, 844)), "de": ((1366, 768), (390, 844)), "fr": ((1366, 768), (390, 844))}

# What each tab shows: changes of the state, one after the other.
SCREENS = [
    *({"tab": "story", "story": i} for i in range(1, 12)),
    {"tab": "class", "example": "tutorial", "masked": True, "line": 7, "cell": "attention_scores:1:1"}, {"present": True, "example": "pizza", "cell": ""},
    {"tab": "training", "present": False}, {"watch": "own", "sentence": "the pizza and some cheese"}, {"watch": ""},
    *({"tab": "breaks", "broken": name} for name in ("no_scale", "mask_after", "no_zero_grad", "split_view", "scale_d_model")),
    *({"tab": "gpt", "gpt_box": box, "gpt_at": 4} for box in ("text", "stream.3", "h.0.attn", "h.1.mlp", "logits")),
    {"tab": "quiz"}, {"tab": "teachers"}]
LINES = [{"tab": "class", "example": "pizza", "phase": phase, "line": line, "part": 0, "cell": ""} for phase, lines in (("forward", range(13)), ("backward", (2, 5, 8))) for line in lines]

# The faults of what is shown now, as texts.
FAULTS = r"""(() => {
    const faults = [], texts = [], name = (text) => JSON.stringify(text.trim().slice(0, 40));
    const shown = (selector) => [...document.querySelectorAll(selector)].filter((e) => e.checkVisibility());
    if (document.documentElement.scrollWidth > innerWidth) faults.push(`the page is ${document.documentElement.scrollWidth} px wide`);
    if (document.getAnimations().length > 0) faults.push("something moves under reduced motion");
    const known = new Map([[document.querySelector("#app"), []]]);
    const cuts = (e) => { // the elements around it that may cut it: [{e, box, x, y: how}], the innermost first
        if (!known.has(e)) {
            const { overflowX, overflowY, textOverflow } = getComputedStyle(e), holds = /^(svg|BUTTON|TD|TH)$/.test(e.tagName) && e.closest(".code") === null;
            const how = (overflow) => /auto|scroll/.test(overflow) ? "scrolls" : overflow !== "visible" || holds ? "cuts" : "";
            const x = textOverflow === "ellipsis" ? "scrolls" : how(overflowX), y = how(overflowY);
            known.set(e, x === "" && y === "" ? cuts(e.parentElement) : [{ e, box: e.getBoundingClientRect(), x, y }, ...cuts(e.parentElement)]);
        }
        return known.get(e);
    };
    const walker = document.createTreeWalker(document.querySelector("#app"), NodeFilter.SHOW_TEXT), range = document.createRange();
    for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
        const parent = node.parentElement;
        if (node.data.trim() === "" || !parent.checkVisibility({ visibilityProperty: true, opacityProperty: true }) ||
            parent.closest(".unseen, option, .hidden-word, .gpt-box code") !== null) continue;
        if (/undefined|\{\d/.test(node.data)) faults.push(`${name(node.data)} is shown`);
        range.selectNodeContents(node);
        for (const { left, top, right, bottom } of range.getClientRects()) {
            const by = cuts(parent).map(({ e, box, x, y }) => [e, left < box.left - 2 || right > box.right + 2 ? x : "", top < box.top - 4 || bottom > box.bottom + 4 ? y : ""])
                .find(([, x, y]) => x !== "" || y !== "");
            if (by !== undefined && by[1] !== "scrolls" && by[2] !== "scrolls") faults.push(`${name(node.data)} is cut by ${by[0].tagName}.${by[0].getAttribute("class")}`);
            if (by === undefined && parent.closest("nav") === null) texts.push({ node, left, top, right, bottom }); // nav is over what is scrolled
        }
    }
    texts.sort((a, b) => a.top - b.top).forEach((a, i) => {
        for (let k = i + 1; k < texts.length && texts[k].top < a.bottom - 5; k++) {
            const b = texts[k];
            if (a.node !== b.node && Math.min(a.right, b.right) - Math.max(a.left, b.left) > 2 && Math.min(a.bottom, b.bottom) - b.top > 5)
                faults.push(`${name(a.node.data)} covers ${name(b.node.data)}`);
        }
    });
    for (const e of shown(".story :is(button, a, input, .story-handle), .gpt-box")) { // fingers need 24 px
        const { width, height } = e.getBoundingClientRect();
        if (width < 24 || height < 24) faults.push(`${e.className.baseVal ?? e.className} is ${width} x ${height}`);
    }
    const desk = innerWidth >= 1366, together = [...(desk ? shown(".gpt-about, .gpt-next") : []), ...(desk || innerWidth < 500 ? shown("#panel-story .story-page") : []),
        ...(desk ? [".chart-plot", ".writes-now", ".chart-reading"].flatMap((x) => shown(`#panel-training ${x}`).slice(0, 1)) : [])];
    for (const e of together) {
        const { bottom } = e.getBoundingClientRect();
        if (bottom > innerHeight + 1) faults.push(`${e.className} ends at ${bottom}`);
    }
    return [...new Set(faults)];
})()"""

# Of a line, [faults, places of what stays]: are its matrices inside the window, each apart from the others, its code seen, a product's numbers where row and column meet?
OF_LINE = r"""(() => {
    const faults = [], panel = document.querySelector("#panel-class"), cards = [...panel.querySelectorAll(".equation .card")];
    const box = (e) => e.getBoundingClientRect(), boxes = [...cards, panel.querySelector(".panel")].map(box);
    cards.forEach((card) => {
        const { left, top, right, bottom } = box(card), name = card.dataset.name;
        if (left < 0 || top < 0 || right > innerWidth + 0.5 || bottom > innerHeight + 0.5) faults.push(`${name} leaves the window: ${[left, top, right, bottom]}`);
        if (box(card.querySelector("table")).right > right + 1) faults.push(`${name}'s table is wider than its card`);
    });
    boxes.forEach((a, i) => boxes.slice(0, i).forEach((b) => {
        if (a.left < b.right - 0.5 && b.left < a.right - 0.5 && a.top < b.bottom - 0.5 && b.top < a.bottom - 0.5) faults.push("matrices cover each other");
    }));
    for (const list of [...panel.querySelectorAll("ol.code")].filter((e) => e.checkVisibility())) {
        const line = box(list.querySelector(".current"));
        if (line.top < box(list).top - 1 || line.bottom > box(list).bottom + 1) faults.push("the current line is not seen");
    }
    if (panel.querySelector(".equation").dataset.layout === "product") {
        const { view } = page.panels.find(({ root }) => root === panel).section;
        const [result, left, right] = cards.map((card) => [...card.querySelectorAll("td[data-index]")].map((td) => {
            const { shape } = view.matrices.get(card.dataset.name), width = shape[shape.length - 1], at = Number(td.dataset.index);
            const [r, c] = [Math.floor(at / width), at % width], b = box(td);
            return { ...(card.dataset.transposed === "true" ? { r: c, c: r } : { r, c }), x: (b.left + b.right) / 2, y: (b.top + b.bottom) / 2 };
        }));
        const rows = new Map(left.map(({ r, y }) => [r, y])), columns = new Map(right.map(({ c, x }) => [c, x]));
        if (!result.every(({ r, c, x, y }) => Math.abs(rows.get(r) - y) < 1.01 && Math.abs(columns.get(c) - x) < 1.01))
            faults.push("a number does not stand where its row and its column meet");
    }
    return [faults, [".map", ".steps", ".listing", ".formula-text", ".panel", ".line-choices"].map((name) => {
        const { left, top, width, height } = box(panel.querySelector(name)), { left: x, top: y } = box(panel);
        return [left - x, top - y, width, height].map(Math.round);
    }).join(" ")];
})()"""

# Shows each of the screens, then of the lines: [[changes, faults, the places of a line's frame], ...].
SWEEP = """await (async (screens, lines) => {
    const frame = () => new Promise(requestAnimationFrame), found = [];
    for (const changes of [...screens, ...lines]) {
        page.setState(changes);
        const panel = document.querySelector(`#panel-${page.state.tab}`), isLine = lines.includes(changes);
        scrollTo(0, isLine && innerWidth < 700 ? panel.getBoundingClientRect().top + scrollY : 0);
        await page.panels.find(({ root }) => root === panel).section.show();
        let faults, places;
        for (let i = 0; i < 100; i++) { // a fault is one that stays: what an engine answers may come later
            await new Promise((resolve) => setTimeout(resolve, i > 0 ? 200 : 0));
            await frame();
            await frame();
            [faults, places] = isLine ? OF_LINE : [FAULTS, ""];
            if (faults.length === 0) break;
        }
        found.push([JSON.stringify(changes), faults, places]);
    }
    return found;
})(...arguments)""".replace("FAULTS", FAULTS).replace("OF_LINE", OF_LINE)

# Sentences of the page, but for programs and for the shares of the toy's words.
SENTENCES = r"""[...document.querySelectorAll("#app p, #app li, #app label, #app summary, #app button")]
    .filter((e) => e.closest(".code, .gpt-code, pre") === null && e.querySelector("select") === null)
    .map((e) => e.textContent.trim()).filter((text) => (text.match(/\p{L}{2,}/gu) ?? []).length > 5 && !/%.*%.*%/.test(text))"""


def check(page):
    checked, sentences, titles = 0, set(), set()
    for language, sizes in SIZES.items():
        page.emulate(theme="dark" if language == "de" else "light")
        page.load(f"#lang={language}")
        for width, height in sizes:
            page.resize(width, height)
            frames = set()
            for changes, faults, places in page.settle(SWEEP, SCREENS, LINES if language == "en" else []):
                assert faults == [], (language, width, changes, faults)
                frames |= {places} - {""}
                checked += 1
            assert len(frames) <= 1, (language, width, "the frame of a line moves", frames)
        own = set(page.run(SENTENCES))
        assert len(own) > 50 and not own & sentences, (language, len(own), own & sentences)
        sentences |= own
        titles.add(page.run("document.title"))
        if language != "fr":
            for tab in TABS[::2] if language == "de" else TABS:
                show(page, tab)
                check_axe(page)
        page.resize(320, 640)  # as 640 px at 200 %
        for changes in ({"tab": "story", "story": 11}, {"tab": "class"}, {"tab": "breaks", "broken": "split_view"}):
            show(page, **changes)
            assert page.run("document.documentElement.scrollWidth") <= 320, (language, changes)
        page.check_quiet()
    assert len(titles) == 3, titles
    for key, texts in page.run("page.allStrings").items():
        places = [sorted(set(part[0] for part in text.split("{")[1:])) for text in texts]
        assert places.count(places[0]) == 3, (key, texts)
    print(f"layout: {checked} drawings in {len(SIZES)} languages are whole")
