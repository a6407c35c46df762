// A chart as a picture with its title and its key, on the ground that it has on the page.
import { colourOf } from "@shared/lib/theme";

const PAD = 16;
const LINE = 20;
const KEYS_MAX = 8;

export interface Key {
  label: string;
  token: string;
}

export function pictureOf(plot: HTMLCanvasElement, title: string, keys: Key[]): Promise<Blob> {
  const scale = devicePixelRatio || 1;
  const shown = keys.slice(0, KEYS_MAX);
  const [width, height] = [plot.width / scale + 2 * PAD, plot.height / scale + 2 * PAD + LINE * (1 + shown.length)];
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
  draw.drawImage(plot, PAD, PAD + LINE, plot.width / scale, plot.height / scale);
  draw.font = `12px ${fontFamily}`;
  shown.forEach(({ label, token }, i) => {
    const y = PAD + LINE + plot.height / scale + LINE * (i + 0.5);
    draw.fillStyle = colourOf(token);
    draw.fillRect(PAD, y - 1.5, 12, 3);
    draw.fillStyle = colourOf("--text");
    draw.fillText(label, PAD + 20, y, width - 2 * PAD - 20);
  });
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("The browser could not make the picture."))), "image/png"));
}
