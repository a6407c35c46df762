import { useMemo, useRef } from "preact/hooks";
import type { Experiment } from "@shared/api/routes.gen";
import { plain } from "@shared/lib/ansi";
import { go, useParameter } from "@shared/lib/address";
import { count, metric } from "@shared/lib/format";
import { useNarrow } from "@shared/lib/hooks";
import { Empty } from "@shared/ui/Empty";
import { pictureOfSvg } from "@shared/ui/chart-picture";
import { Copies } from "@shared/ui/Copies";
import { SelectField } from "@shared/ui/Form";
import { edgeOf, type Field, fieldsOf, partsOf } from "./heat";
import { type Axis, importanceOf, type SearchTrial } from "./search-data";
import { nearest, useStepping } from "./stepping";

interface Props {
  x: Experiment;
  trials: SearchTrial[];
  axes: Axis[];
  best: (number | null)[];
  ranks: (number | null)[];
}

const NARROW_WIDTH = 640;
const WIDE = { width: 1000, height: 420, left: 96, right: 10, top: 10, bottom: 46 };
const TEXT_MAX = 11;

const labelOf = (axis: Axis, part: number) => plain(axis.categories ? axis.categories[part]! : metric(edgeOf(axis, part))).slice(0, TEXT_MAX);

/** The best value in each field of two hyperparameters; at first of the two on which the metric depends most. */
export function HeatMap({ x, trials, axes, best, ranks }: Props) {
  const sorted = useMemo(() => [...axes].sort((a, b) => Math.abs(importanceOf(b, trials, ranks)) - Math.abs(importanceOf(a, trials, ranks))), [axes, trials, ranks]);
  const [first, setFirst] = useParameter("x", sorted[0]?.name ?? "");
  const [second, setSecond] = useParameter("y", sorted[1]?.name ?? "");
  const across = axes.find((axis) => axis.name === first) ?? sorted[0];
  const up = axes.find((axis) => axis.name === second) ?? sorted[1];
  if (!across || !up) return <Empty title="One hyperparameter only">A map needs two hyperparameters that differ between trials.</Empty>;
  return <Fields x={x} trials={trials} axes={axes} best={best} ranks={ranks} across={across} up={up} setFirst={setFirst} setSecond={setSecond} />;
}

interface FieldsProps extends Props {
  across: Axis;
  up: Axis;
  setFirst: (name: string) => void;
  setSecond: (name: string) => void;
}

function Fields({ x, trials, axes, best, ranks, across, up, setFirst, setSecond }: FieldsProps) {
  const svg = useRef<SVGSVGElement>(null);
  const size = useNarrow() ? { ...WIDE, width: NARROW_WIDTH } : WIDE;
  const options = axes.map((axis) => [axis.name, plain(axis.name)] as [string, string]);
  const fields = fieldsOf(across, up, trials, best, ranks);
  const [columns, rows] = [partsOf(across), partsOf(up)];
  const [width, height] = [(size.width - size.left - size.right) / columns, (size.height - size.top - size.bottom) / rows];
  const [at, down] = [(column: number) => size.left + column * width, (row: number) => size.height - size.bottom - (row + 1) * height];
  const open = ({ trials: [only, more] }: Field) => go(more === undefined ? `experiments/${x.id}/trials/${only}` : `experiments/${x.id}/trials`);
  // By keys from the best field on, to the nearest one in the arrow's direction.
  const first = fields.reduce((top, field, i) => (field.rank > (fields[top]?.rank ?? -1) ? i : top), 0);
  const { over, setOver, keys } = useStepping((from, key) => (fields.length === 0 ? null : key === "Home" || (from === null && key.startsWith("Arrow")) ? first : from === null ? null : nearest(fields, from, key)), (i) => open(fields[i]!));
  const textOf = ({ best: value, trials: list }: Field) => `${plain(x.searcherMetric)} ${metric(value)}, ${count(list.length, "trial")}: ${list.slice(0, 8).join(", ")}${list.length > 8 ? " …" : ""}`;
  const pointed = over === null ? undefined : fields[over];
  const title = `${plain(x.searcherMetric)} over ${plain(across.name)} and ${plain(up.name)}`;
  const partText = (axis: Axis, part: number) => (axis.categories ? axis.categories[part] : edgeOf(axis, part));
  const cells = () => [[across.name, up.name, x.searcherMetric, "trials"], ...fields.map((field) => [partText(across, field.column), partText(up, field.row), field.best, field.trials.join(" ")])];
  return (
    <figure class="drawn broad" {...keys}>
      <div class="toolbar"><SelectField label="Across" quiet value={across.name} options={options} onChange={setFirst} /><span class="muted">by</span><SelectField label="Upwards" quiet value={up.name} options={options} onChange={setSecond} /></div>
      <svg ref={svg} viewBox={`0 0 ${size.width} ${size.height}`} role="img" aria-label={`The best ${x.searcherMetric} over ${across.name} and ${up.name}`}>
        <rect x={size.left} y={size.top} width={columns * width} height={rows * height} />
        {fields.map((field, i) => (
          <g key={`${field.column} ${field.row}`} class={`heat ${over === i ? "over" : ""}`} onMouseEnter={() => setOver(i)} onMouseLeave={() => setOver(null)} onClick={() => open(field)}>
            <rect x={at(field.column) + 1} y={down(field.row) + 1} width={width - 2} height={height - 2} style={{ fill: `color-mix(in oklab, var(--series-1) ${Math.round(field.rank * 100)}%, var(--selected))` }}>
              <title>{textOf(field)}</title>
            </rect>
            {width > 60 && height > 18 && <text x={at(field.column) + width / 2} y={down(field.row) + height / 2 + 4} text-anchor="middle" class={field.rank > 0.5 ? "on-dark" : ""}>{metric(field.best)}</text>}
          </g>
        ))}
        {Array.from({ length: columns }, (_, i) => <text key={i} x={across.categories ? at(i) + width / 2 : at(i)} y={size.height - size.bottom + 16} text-anchor="middle">{labelOf(across, i)}</text>)}
        {Array.from({ length: rows }, (_, i) => <text key={i} x={size.left - 6} y={up.categories ? down(i) + height / 2 + 4 : down(i) + height + 4} text-anchor="end">{labelOf(up, i)}</text>)}
        <text x={14} y={size.top + (rows * height) / 2} text-anchor="middle" class="name" transform={`rotate(-90 14 ${size.top + (rows * height) / 2})`}>{plain(up.name)}{up.log ? " (log)" : ""}</text>
        <text x={size.left + (columns * width) / 2} y={size.height - 6} text-anchor="middle" class="name">{plain(across.name)}{across.log ? " (log)" : ""}</text>
      </svg>
      <figcaption class="row spread"><span class="muted number" role="status">{pointed ? textOf(pointed) : "The stronger the colour, the better the best trial of a field. Press a field (or choose it by the arrow keys and press Enter) to open its trials."}</span>
        <span class="unprinted"><Copies name={title} rows={cells} picture={() => pictureOfSvg(svg.current!, title)} /></span></figcaption>
    </figure>
  );
}
