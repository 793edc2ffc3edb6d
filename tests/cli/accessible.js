// What a page has to have so that everybody can read it: contrast, headings, names, and nothing wider than the screen.
// Returns what is wrong, in words. Every <details> is opened first.
(() => {
    const wrong = [];
    const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
    const linear = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const luminance = ([r, g, b]) => 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b);
    const blend = (over, under) => {
        const alpha = over[3] ?? 1;
        return [0, 1, 2].map((i) => over[i] * alpha + under[i] * (1 - alpha));
    };
    const behind = (element) => {
        if (element === null)
            return [255, 255, 255];
        const colour = channels(getComputedStyle(element).backgroundColor);
        return (colour[3] ?? 1) === 1 ? colour : blend(colour, behind(element.parentElement));
    };
    const ratio = (a, b) => {
        const [low, high] = [luminance(a), luminance(b)].sort((x, y) => x - y);
        return (high + 0.05) / (low + 0.05);
    };
    const called = (element) => `<${element.tagName.toLowerCase()} class="${element.getAttribute("class") ?? ""}">`;

    document.querySelectorAll("details").forEach((details) => { details.open = true; });

    const seen = new Set();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    for (let node; (node = walker.nextNode());) {
        const element = node.parentElement;
        if (node.data.trim() === "" || element.closest("svg, style") || seen.has(element) || !element.checkVisibility())
            continue;
        seen.add(element);
        const style = getComputedStyle(element), size = parseFloat(style.fontSize);
        const ground = behind(element);
        const found = ratio(blend(channels(style.color), ground), ground);
        const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
        if (found < (large ? 3 : 4.5))
            wrong.push(`contrast ${found.toFixed(2)} of "${node.data.trim().slice(0, 40)}" in ${called(element)}`);
        if (size < 11)
            wrong.push(`${size} px: "${node.data.trim().slice(0, 40)}"`);
    }

    let level = 0;
    for (const heading of document.querySelectorAll("h1, h2, h3, h4, h5, h6")) {
        const now = Number(heading.tagName[1]);
        if (now > level + 1)
            wrong.push(`h${now} after h${level}: ${heading.textContent.slice(0, 40)}`);
        if (heading.textContent.trim() === "")
            wrong.push(`an empty h${now}`);
        level = now;
    }
    if (document.querySelectorAll("h1").length !== 1 || document.querySelectorAll("main").length !== 1)
        wrong.push("not one h1 and one main");
    if (!document.documentElement.lang || !document.title)
        wrong.push("no language or no title");

    for (const picture of document.querySelectorAll("svg"))
        if (!picture.getAttribute("aria-label") && picture.getAttribute("aria-hidden") !== "true")
            wrong.push("a picture that says nothing");
    for (const element of document.querySelectorAll("a, summary, th, caption"))
        if (element.textContent.trim() === "")
            wrong.push(`nothing in ${called(element)}`);
    for (const cell of document.querySelectorAll("th"))
        if (!cell.scope)
            wrong.push(`a heading of a table for nothing: ${cell.textContent}`);
    for (const element of document.querySelectorAll("*"))
        if (element.checkVisibility() && element.scrollWidth > element.clientWidth + 1 && element.tabIndex < 0 &&
            ["auto", "scroll"].includes(getComputedStyle(element).overflowX))
            wrong.push(`${called(element)} can't be scrolled by keys`);

    for (const plot of document.querySelectorAll(".plot")) {
        const marks = [...plot.querySelectorAll(".x")].filter((mark) => mark.checkVisibility());
        const boxes = marks.map((mark) => mark.getBoundingClientRect()).sort((a, b) => a.left - b.left);
        if (boxes.some((box, i) => i > 0 && box.left < boxes[i - 1].right))
            wrong.push(`marks on marks: ${marks.map((mark) => mark.textContent).join(" ")}`);
    }

    for (const card of document.querySelectorAll(".card"))
        if (card.scrollWidth > card.clientWidth + 1)
            wrong.push(`${card.scrollWidth} px in a box of ${card.clientWidth}: "${card.textContent.trim().slice(0, 40)}"`);

    const width = document.documentElement.scrollWidth;
    if (width > window.innerWidth)
        wrong.push(`${width} px wide on a screen of ${window.innerWidth}`);
    return wrong;
})()
