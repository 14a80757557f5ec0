"use strict";
// The picture of lineage in a browser with scripts: zoom, a small map, search, and the picture as PNG. Everything else,
// also each step, is a link, and works without.
(() => {
  const by = (id) => document.getElementById(id);
  const [frame, picture, map, view] = ["frame", "picture", "map", "view"].map(by);
  if (!picture) return;
  const width = picture.viewBox.baseVal.width, height = picture.viewBox.baseVal.height;
  const focus = { x: Number(picture.dataset.x), y: Number(picture.dataset.y) };
  let scale = 1, x = 0, y = 0; // the upper left corner of what is seen, in units of the drawing

  function show() {
    const [w, h] = [frame.clientWidth / scale, frame.clientHeight / scale];
    picture.setAttribute("viewBox", `${x} ${y} ${w} ${h}`);
    for (const [name, value] of Object.entries({ x, y, width: w, height: h })) view.setAttribute(name, value);
    map.toggleAttribute("hidden", w >= width && h >= height);
  }
  function zoom(factor, at = { x: frame.clientWidth / 2, y: frame.clientHeight / 2 }) {
    const next = Math.min(2.5, Math.max(0.05, scale * factor));
    x += at.x / scale - at.x / next;
    y += at.y / scale - at.y / next;
    scale = next;
    show();
  }
  function centre(place) {
    x = place.x - frame.clientWidth / scale / 2;
    y = place.y - frame.clientHeight / scale / 2;
    show();
  }
  function fit(least = 0.05) {
    const most = 0.75 * window.innerHeight;
    scale = Math.max(Math.min(frame.clientWidth / width, most / height, 1), least);
    frame.style.height = `${Math.min(most, Math.max(220, height * scale + 4))}px`;
    const inside = (at, whole, seen) => whole <= seen ? whole / 2 : Math.min(Math.max(at, seen / 2), whole - seen / 2);
    centre({ x: inside(focus.x, width, frame.clientWidth / scale), y: inside(focus.y, height, frame.clientHeight / scale) });
  }

  // --- the picture follows the mouse, a finger or two, and the keys
  const held = new Map();
  let moved = 0;
  const spot = (event) => ({ x: event.clientX - frame.getBoundingClientRect().x, y: event.clientY - frame.getBoundingClientRect().y });
  const apart = () => { const [a, b] = [...held.values()]; return Math.hypot(a.x - b.x, a.y - b.y); };
  frame.addEventListener("pointerdown", (event) => {
    if (event.target.closest("#map")) return;
    held.set(event.pointerId, spot(event));
    moved = 0;
  });
  window.addEventListener("pointermove", (event) => {
    const last = held.get(event.pointerId), now = spot(event);
    if (!last) return;
    moved += Math.abs(now.x - last.x) + Math.abs(now.y - last.y);
    const before = held.size === 2 && apart();
    held.set(event.pointerId, now);
    if (before) { zoom(apart() / before, now); return; }
    x -= (now.x - last.x) / scale;
    y -= (now.y - last.y) / scale;
    show();
  });
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, (event) => held.delete(event.pointerId));
  frame.addEventListener("dragstart", (event) => event.preventDefault());
  frame.addEventListener("click", (event) => { if (moved > 6) event.preventDefault(); }, true); // it was moved, not clicked
  frame.addEventListener("wheel", (event) => {
    event.preventDefault();
    zoom(Math.exp(-event.deltaY / 400), spot(event));
  }, { passive: false });
  frame.addEventListener("keydown", (event) => {
    const steps = { ArrowLeft: [-60, 0], ArrowRight: [60, 0], ArrowUp: [0, -60], ArrowDown: [0, 60] }[event.key];
    if (steps) { event.preventDefault(); x += steps[0] / scale; y += steps[1] / scale; show(); }
    if (event.key === "+" || event.key === "-") zoom(event.key === "+" ? 1.25 : 0.8);
  });
  picture.addEventListener("focusin", (event) => { // a link that is reached by the keyboard is brought into view
    const [a, b] = [event.target.getBoundingClientRect(), frame.getBoundingClientRect()];
    frame.scrollTo(0, 0);
    if (a.left < b.left || a.right > b.right || a.top < b.top || a.bottom > b.bottom) {
      centre({ x: x + (a.x + a.width / 2 - b.x) / scale, y: y + (a.y + a.height / 2 - b.y) / scale });
    }
  });
  map.setAttribute("viewBox", `0 0 ${width} ${height}`);
  map.addEventListener("click", (event) => {
    const at = new DOMPoint(event.clientX, event.clientY).matrixTransform(map.getScreenCTM().inverse());
    centre(at);
  });
  by("in").onclick = () => zoom(1.25);
  by("out").onclick = () => zoom(0.8);
  by("fit").onclick = () => fit();

  // --- a column lights up with what it is connected to
  const edges = [...picture.querySelectorAll(".edge")];
  picture.addEventListener("pointerover", (event) => {
    for (const one of picture.querySelectorAll(".lit")) one.classList.remove("lit");
    const column = event.target.closest(".column");
    if (!column) return;
    for (const [near, far] of [["from", "to"], ["to", "from"]]) {
      const waiting = [column.dataset.key], seen = new Set(waiting);
      while (waiting.length) {
        const key = waiting.pop();
        for (const edge of edges.filter((one) => one.dataset[near] === key)) {
          edge.classList.add("lit");
          const next = edge.dataset[far];
          if (!seen.has(next)) { seen.add(next); if (!next.endsWith("|")) waiting.push(next); }
        }
      }
      for (const one of picture.querySelectorAll(".column")) if (seen.has(one.dataset.key)) one.classList.add("lit");
    }
  });

  // --- search in the picture: each Enter goes to the next one
  let hits = [], next = 0;
  by("find").addEventListener("input", (event) => {
    const text = event.target.value.trim().toLowerCase();
    picture.classList.toggle("searched", text !== "");
    hits = [...picture.querySelectorAll(".box")].filter((box) => {
      const names = [box.dataset.name, ...[...box.querySelectorAll(".column")].map((one) => one.dataset.key.split("|").pop())];
      const isHit = text !== "" && names.some((name) => name.toLowerCase().includes(text));
      box.classList.toggle("hit", isHit);
      return isHit;
    });
    next = 0;
  });
  by("find").addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || !hits.length) return;
    const box = hits[next++ % hits.length], at = box.transform.baseVal.consolidate().matrix;
    scale = Math.max(scale, 0.8);
    centre({ x: at.e + 118, y: at.f + 30 });
  });

  // --- the picture as PNG: the server's SVG, drawn here
  by("png").addEventListener("click", () => {
    const image = new Image();
    image.onload = () => {
      const canvas = document.createElement("canvas"), most = 16000;
      const size = Math.min(2, most / image.width, most / image.height);
      canvas.width = image.width * size;
      canvas.height = image.height * size;
      canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height);
      canvas.toBlob((blob) => {
        const link = document.createElement("a");
        link.href = URL.createObjectURL(blob);
        link.download = "lineage.png";
        link.click();
        setTimeout(() => URL.revokeObjectURL(link.href), 10000);
      });
    };
    image.src = by("png").dataset.svg;
  });

  // --- the day by a slider
  const slider = by("slider"), narrow = by("narrow");
  if (slider) {
    slider.hidden = false;
    slider.addEventListener("input", () => {
      const day = new Date(`${slider.dataset.first}T00:00:00Z`);
      day.setUTCDate(day.getUTCDate() + Number(slider.value));
      narrow.elements.day.value = day.toISOString().slice(0, 10);
    });
    slider.addEventListener("change", () => narrow.submit());
  }

  by("tools").hidden = false;
  frame.classList.add("moves");
  picture.removeAttribute("width");
  picture.removeAttribute("height");
  window.addEventListener("resize", show);
  fit(0.8);
})();
