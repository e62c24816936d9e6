// Search: all words must occur in an entry's name or summary; names that begin with the query come first.
(function () {
    var field = document.getElementById("search"), list = document.getElementById("results"), chosen = -1;

    function rank(name, query) {
        name = name.toLowerCase();
        var bare = name.replace(/^(struct )?heed_/, ""), plain = query.replace(/^heed_/, "").replace(/\s+/g, "_");
        return bare === plain ? 0 : bare.indexOf(plain) === 0 ? 1 : name.indexOf(plain) >= 0 ? 2 : 3;
    }

    function show() {
        var query = field.value.trim().toLowerCase(), words = query.split(/[\s.]+/), found = [];
        list.textContent = "";
        chosen = -1;
        if (!query) return;
        entries.forEach(function (entry, i) {
            var text = (entry[0] + " " + entry[2]).toLowerCase();
            if (words.every(function (word) { return text.indexOf(word) >= 0; })) {
                found.push([rank(entry[0], query), entry[0].length, i, entry]);
            }
        });
        found.sort(function (a, b) { return a[0] - b[0] || a[1] - b[1] || a[2] - b[2]; });
        found.slice(0, 30).forEach(function (hit) {
            var item = document.createElement("li"), link = document.createElement("a"), note = document.createElement("small");
            link.href = hit[3][1];
            link.textContent = hit[3][0];
            note.textContent = hit[3][2];
            link.appendChild(note);
            item.appendChild(link);
            list.appendChild(item);
        });
        if (!found.length) list.textContent = "nothing found";
    }

    function choose(step) {
        var links = list.getElementsByTagName("a");
        if (!links.length) return;
        if (chosen >= 0) links[chosen].className = "";
        chosen = (chosen + step + links.length) % links.length;
        links[chosen].className = "here";
    }

    field.addEventListener("input", show);
    field.addEventListener("keydown", function (event) {
        if (event.key === "ArrowDown" || event.key === "ArrowUp") {
            choose(event.key === "ArrowDown" ? 1 : chosen < 0 ? 0 : -1);
            event.preventDefault();
        } else if (event.key === "Enter") {
            var link = list.getElementsByTagName("a")[Math.max(chosen, 0)];
            if (link) location.href = link.href;
        } else if (event.key === "Escape") {
            field.value = "";
            show();
        }
    });
    document.addEventListener("keydown", function (event) {
        if (event.key === "/" && document.activeElement !== field) {
            field.focus();
            event.preventDefault();
        }
    });
    var here = document.querySelector("nav .here");
    if (here) here.closest("nav").scrollTop = here.offsetTop - 200;
    // ?q=add in the address
    var query = /[?&]q=([^&]*)/.exec(location.search);
    if (query) {
        field.value = decodeURIComponent(query[1]);
        show();
    }
})();
