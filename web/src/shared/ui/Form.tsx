// A form: fields with a label, a hint and a mistake, and what is typed into them.
import { type ComponentChildren, type JSX } from "preact";
import { useId } from "preact/hooks";
import { Icon } from "./icons";
import "./form.css";

interface FieldProps {
  label: string;
  hint?: ComponentChildren;
  mistake?: string | undefined;
  children: (ids: { id: string; describedBy: string | undefined; invalid: boolean }) => JSX.Element;
}

export function Field({ label, hint, mistake, children }: FieldProps) {
  const id = useId();
  const says = `${id}-says`;
  return (
    <div class={`field ${mistake ? "wrong" : ""}`}>
      <label for={id}>{label}</label>
      {children({ id, describedBy: mistake || hint ? says : undefined, invalid: Boolean(mistake) })}
      {(mistake || hint) && (
        <p id={says} class="says" role={mistake ? "alert" : undefined}>
          {mistake ?? hint}
        </p>
      )}
    </div>
  );
}

type InputProps = Omit<JSX.IntrinsicElements["input"], "onInput" | "value"> & { value: string; onInput: (value: string) => void };

interface TextProps extends Omit<InputProps, "label"> {
  label: string;
  hint?: ComponentChildren;
  mistake?: string | undefined;
}

export function TextField({ label, hint, mistake, onInput, ...rest }: TextProps) {
  return (
    <Field label={label} hint={hint} mistake={mistake}>
      {({ id, describedBy, invalid }) => (
        <input {...rest} id={id} class="input" aria-describedby={describedBy} aria-invalid={invalid} onInput={(event) => onInput(event.currentTarget.value)} />
      )}
    </Field>
  );
}

interface SelectProps<Value extends string> {
  label: string;
  /** the label is read out, but not shown: in toolbars */
  quiet?: boolean;
  value: Value;
  options: readonly (readonly [Value, string])[];
  onChange: (value: Value) => void;
  hint?: ComponentChildren;
  disabled?: boolean;
  /** why the list to choose from could not be read */
  lost?: Error | null;
}

export function SelectField<Value extends string>({ label, quiet, value, options, onChange, hint, disabled, lost }: SelectProps<Value>) {
  const select = (id?: string, describedBy?: string) => (
    <span class="select">
      <select id={id} class="input" aria-label={quiet ? label : undefined} aria-describedby={describedBy} value={value} disabled={disabled}
        onChange={(event) => onChange(event.currentTarget.value as Value)}>
        {options.map(([key, text]) => (
          <option key={key} value={key}>
            {text}
          </option>
        ))}
      </select>
      <Icon name="down" size={14} />
    </span>
  );
  const mistake = lost ? `The list could not be read: ${lost.message}` : undefined;
  if (quiet) return mistake ? <span class="field wrong">{select()}<span class="says" role="alert">{mistake}</span></span> : select();
  return (
    <Field label={label} hint={hint} mistake={mistake}>
      {({ id, describedBy }) => select(id, describedBy)}
    </Field>
  );
}

export function CheckField({ label, checked, onChange, disabled }: { label: string; checked: boolean; onChange: (on: boolean) => void; disabled?: boolean }) {
  return (
    <label class="check">
      <input type="checkbox" checked={checked} disabled={disabled} onChange={(event) => onChange(event.currentTarget.checked)} />
      <span>{label}</span>
    </label>
  );
}

export function SearchField({ label, value, onInput }: { label: string; value: string; onInput: (value: string) => void }) {
  return (
    <span class="search">
      <Icon name="search" size={14} />
      <input type="search" class="input" aria-label={label} placeholder={label} value={value} spellcheck={false} onInput={(event) => onInput(event.currentTarget.value)} />
    </span>
  );
}

/** The number of another object, beside which this one is shown. */
export function AgainstField({ what, value, onChange }: { what: string; value: string; onChange: (value: string | null) => void }) {
  return (
    <label class="row against">
      <span class="muted">Difference to<span class="not-narrow"> {what}</span></span>
      <input class="input" inputMode="numeric" aria-label={`Difference to ${what}`} placeholder="ID" value={value} onInput={(event) => onChange(event.currentTarget.value.replace(/\D/g, "") || null)} />
    </label>
  );
}

/** A few choices beside each other, of which one holds. */
export function Choice<Value extends string>({ label, value, options, onChange }: SelectProps<Value>) {
  return (
    <div class="choice" role="radiogroup" aria-label={label}>
      {options.map(([key, text]) => (
        <label key={key} class={key === value ? "on" : ""}>
          <input type="radio" name={label} class="unseen" checked={key === value} onChange={() => onChange(key)} />
          {text}
        </label>
      ))}
    </div>
  );
}
