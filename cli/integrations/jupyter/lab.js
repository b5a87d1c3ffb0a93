// The colours of cells in JupyterLab 4: a language for its editor. `agrad kernel install` puts this file, with the words
// of the language in the place of WORDS, where JupyterLab looks for extensions; it is loaded as webpack loads modules.
(window._JUPYTERLAB = window._JUPYTERLAB || {})["agrad"] = (() => {
  const { commands, keywords, number, operator } = WORDS;
  const patterns = Object.entries({
    comment: /#.*/,
    string: /[fF]?("""([^\\]|\\.)*?"""|'''([^\\]|\\.)*?'''|"([^"\\]|\\.)*"?|'([^'\\]|\\.)*'?)/,
    number: new RegExp(number),
    name: /[\p{L}_][\p{L}\p{M}\p{N}_]*/u,
    operator: new RegExp(operator),
  });
  const starts = Object.fromEntries(Object.entries(commands).map(([word, behind]) => [word, new RegExp("^(?:" + behind + ")", "u")]));
  let shared;

  function token(stream, state) {
    if (stream.sol()) state.first = true;
    if (stream.eatSpace()) return null;
    for (const [kind, pattern] of patterns) {
      const found = stream.match(new RegExp("^(?:" + pattern.source + ")", pattern.flags));
      if (!found) continue;
      const word = found[0], first = state.first;
      state.first = word === ";" || word === ":";
      if (kind === "name") {
        if (keywords.includes(word)) return "keyword";
        return first && word in starts && starts[word].test(stream.string.slice(stream.pos)) ? "builtin" : "variableName";
      }
      return kind;
    }
    stream.next();
    return "invalid";
  }

  async function load(name) {
    const [version] = Object.values(shared[name]);
    return (await version.get())();
  }

  return {
    init(scope) { shared = scope; },
    async get() {
      const { IEditorLanguageRegistry } = await load("@jupyterlab/codemirror");
      const { LanguageSupport, StreamLanguage } = await load("@codemirror/language");
      const startState = () => ({ first: true });
      const made = StreamLanguage.define({ name: "agrad", startState, token, languageData: { commentTokens: { line: "#" } } });
      const language = { name: "agrad", mime: "text/x-agrad", extensions: ["ag"], support: new LanguageSupport(made) };
      const activate = (app, languages) => languages.addLanguage(language);
      return () => ({ __esModule: true, default: { id: "agrad:language", autoStart: true, requires: [IEditorLanguageRegistry], activate } });
    },
  };
})();
