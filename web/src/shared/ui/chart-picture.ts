// A chart or a plot as a picture with its title and its key, on the ground that it has on the page.
import { colourOf } from "@shared/lib/theme";

const PAD = 16;
const LINE = 20;
const KEYS_MAX = 8;
/** A plot has no pixels of its own: it is drawn with this many for each of its units. */
const PLOT_SCALE = 2;

export interface Key {
  label: string;
  token: string;
}

interface Size {
  width: number;
  height: number;
}

function framed(image: CanvasImageSource, size: Size, scale: number, title: string, keys: Key[]): Promise<Blob> {
  const shown = keys.slice(0, KEYS_MAX);
  const [width, height] = [size.width + 2 * PAD, size.height + 2 * PAD + LINE * (1 + shown.length)];
  const canvas = Object.assign(document.createElement("canvas"), { width: width * scale, height: height * scale });
  const draw = canvas.getContext("2d")!;
  draw.scale(scale, scale);
  draw.fillStyle = colourOf("--surface");
  draw.fillRect(0, 0, width, height);
  const { fontFamily } = getComputedStyle(document.body);
  draw.textBaseline = "middle";
  draw.fillStyle = colourOf("--text");
  draw.font = `600 13px ${fontFamily}`;
  draw.fillText(title, PAD, PAD + LINE / 2 - 4, width - 2 * PAD);
  draw.drawImage(image, PAD, PAD + LINE, size.width, size.height);
  draw.font = `12px ${fontFamily}`;
  shown.forEach(({ label, token }, i) => {
    const y = PAD + LINE + size.height + LINE * (i + 0.5);
    draw.fillStyle = colourOf(token);
    draw.fillRect(PAD, y - 1.5, 12, 3);
    draw.fillStyle = colourOf("--text");
    draw.fillText(label, PAD + 20, y, width - 2 * PAD - 20);
  });
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not make the picture."))), "image/png"));
}

export function pictureOf(plot: HTMLCanvasElement, title: string, keys: Key[]): Promise<Blob> {
  const scale = devicePixelRatio || 1;
  return framed(plot, { width: plot.width / scale, height: plot.height / scale }, scale, title, keys);
}

/** What a plot looks like comes from the page's style sheets, which a picture does not have: its elements get it as attributes. */
const LOOKS = ["fill", "stroke", "stroke-width", "opacity", "font-family", "font-size", "font-weight", "paint-order", "stroke-linejoin"] as const;

function withLooks(svg: SVGSVGElement, { width, height }: Size): string {
  const copy = svg.cloneNode(true) as SVGSVGElement;
  const copies = copy.querySelectorAll("*");
  svg.querySelectorAll("*").forEach((element, i) => {
    const looks = getComputedStyle(element);
    copies[i]!.removeAttribute("style");
    for (const name of LOOKS) copies[i]!.setAttribute(name, looks.getPropertyValue(name));
  });
  copy.setAttribute("width", String(width));
  copy.setAttribute("height", String(height));
  return new XMLSerializer().serializeToString(copy);
}

export async function pictureOfSvg(svg: SVGSVGElement, title: string): Promise<Blob> {
  const { width, height } = svg.viewBox.baseVal;
  const size = { width: width * PLOT_SCALE, height: height * PLOT_SCALE };
  const image = new Image();
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(withLooks(svg, size))}`;
  await image.decode();
  return framed(image, { width, height }, PLOT_SCALE, title, []);
}
