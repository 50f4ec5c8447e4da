/** The dialog in which a program is chosen or typed. It is loaded when it is first opened. */

import { cpp } from "@codemirror/lang-cpp";
import { lintGutter, setDiagnostics } from "@codemirror/lint";
import { basicSetup, EditorView } from "codemirror";
import { useEffect, useRef, useState } from "react";
import type { Diagnostic, Info, Source } from "./messages";

const EXAMPLE = `int sum(const int *values, int n) {
  int total = 0;
  for (int i = 0; i < n; i++)
    total += values[i] * 4;
  return total;
}
`;

const LANGUAGES: Record<string, Source["language"]> = {
  c: "c",
  cc: "c++",
  cpp: "c++",
  cxx: "c++",
  ll: "ir",
};

interface Props {
  info: Info;
  source: Source | null;
  diagnostics: Diagnostic[];
  error: string | null;
  busy: boolean;
  openName: (name: string) => void;
  openSource: (source: Source) => void;
  close: () => void;
}

export default function ProgramDialog(props: Props) {
  const { info, diagnostics } = props;
  const dialog = useRef<HTMLDialogElement>(null);
  const place = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView>(null);
  const [language, setLanguage] = useState<Source["language"]>(props.source?.language ?? "c");
  const [flags, setFlags] = useState(props.source?.flags ?? "");
  const first = useRef(props.source?.text ?? EXAMPLE);

  useEffect(() => {
    dialog.current?.showModal();
    if (!place.current) return;
    const made = new EditorView({
      doc: first.current,
      extensions: [
        basicSetup,
        cpp(),
        lintGutter(),
        EditorView.contentAttributes.of({ "aria-label": "Source" }),
      ],
      parent: place.current,
    });
    view.current = made;
    return () => made.destroy();
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const marks = diagnostics.flatMap((each) => {
      if (each.line < 1 || each.line > editor.state.doc.lines) return [];
      const line = editor.state.doc.line(each.line);
      const from = Math.min(line.to, line.from + Math.max(0, each.column - 1));
      const severity = each.severity === "note" ? ("info" as const) : each.severity;
      return [{ from, to: line.to, severity, message: each.message }];
    });
    editor.dispatch(setDiagnostics(editor.state, marks));
  }, [diagnostics]);

  const read = async (file: File | undefined) => {
    if (!file) return;
    const text = await file.text();
    view.current?.dispatch({
      changes: { from: 0, to: view.current.state.doc.length, insert: text },
    });
    setLanguage(LANGUAGES[file.name.split(".").at(-1) ?? ""] ?? language);
  };
  const compile = () =>
    props.openSource({ language, text: view.current?.state.doc.toString() ?? "", flags });
  return (
    <dialog
      ref={dialog}
      aria-label="Program"
      onClose={props.close}
      onDragOver={(event) => event.preventDefault()}
      onDrop={(event) => {
        event.preventDefault();
        read(event.dataTransfer.files[0]);
      }}
    >
      <p className="row">
        <label>
          Built-in program{" "}
          <select value="" onChange={(event) => props.openName(event.target.value)}>
            <option value="">choose…</option>
            {info.programs.map((name) => (
              <option key={name}>{name}</option>
            ))}
          </select>
        </label>
        <span className="hint">or type, paste, drop or open a source:</span>
        <button type="button" className="end" onClick={() => dialog.current?.close()}>
          Close
        </button>
      </p>
      <div ref={place} className="editor" />
      {props.error && <p role="alert">{props.error}</p>}
      <p className="row">
        <select
          aria-label="Language"
          value={language}
          onChange={(event) => setLanguage(event.target.value as Source["language"])}
        >
          <option value="c">C</option>
          <option value="c++">C++</option>
          <option value="ir">LLVM IR</option>
        </select>
        <input
          aria-label="Compiler flags"
          placeholder="flags, such as -DN=8 -std=c++20"
          value={flags}
          onChange={(event) => setFlags(event.target.value)}
        />
        <label className="file">
          Open a file
          <input
            type="file"
            accept=".c,.cc,.cpp,.cxx,.ll"
            onChange={(event) => read(event.target.files?.[0])}
          />
        </label>
        <button type="button" className="primary" disabled={props.busy} onClick={compile}>
          {props.busy ? "Compiling…" : "Compile"}
        </button>
      </p>
    </dialog>
  );
}
