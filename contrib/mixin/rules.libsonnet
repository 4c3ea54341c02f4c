// SPDX-License-Identifier: Apache-2.0
// Parses a Prometheus rules file. The YAML parser of jsonnet 0.18 (C++) fails on multi-line strings, so the lines of
// each `expr: |` are joined first, which means the same in PromQL.
local key = '        expr: '; // indented as in ../prometheus/*.yml; the lines of its text are indented further

local one_line(text) =
  local lines = std.split(text, '\n');
  local deeper(i) =
    i < std.length(lines) && (lines[i] == '' || std.startsWith(lines[i], '         '));
  local count(i) = if deeper(i) then count(i + 1) else i;
  local n = count(0);
  "'" + std.strReplace(std.join(' ', lines[:n]), "'", "''") + "'\n" + std.join('\n', lines[n:]);

{
  parse(text)::
    // In 0.18, std.split() only splits at a single character.
    local parts = std.split(std.strReplace(text, key + '|\n', '\u0001'), '\u0001');
    std.parseYaml(std.join(key, [parts[0]] + [one_line(part) for part in parts[1:]])),
}
