// SPDX-License-Identifier: Apache-2.0
// A file of rules as Prometheus reads it, parsed. The parser of jsonnet 0.18 (C++) fails on texts of several lines, so
// the lines of each `expr: |` are made one first, which means the same in PromQL.
{
  local indent(line) = std.length(line) - std.length(std.lstripChars(line, ' ')),

  // state.block: the indentation of the key whose lines are being collected, or null.
  local step(state, line) =
    if state.block != null && (line == '' || indent(line) > state.block) then
      state { expr+: ' ' + std.stripChars(line, ' ') }
    else
      local done = if state.block == null then state else {
        block: null,
        lines: state.lines + [
          std.join('', std.repeat([' '], state.block)) + 'expr: ' +
          std.escapeStringJson(std.stripChars(state.expr, ' ')),
        ],
      };
      if std.endsWith(line, 'expr: |') then
        { lines: done.lines, block: indent(line), expr: '' }
      else
        done { lines+: [line] },

  parse(text)::
    local end = std.foldl(step, std.split(text, '\n') + ['#'], { lines: [], block: null });
    std.parseYaml(std.join('\n', end.lines)),
}
