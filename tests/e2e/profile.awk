# SPDX-License-Identifier: Apache-2.0
# Reads a pprof profile as printed by protoc, and resolves its references. Prints lines: "sample_type TYPE/UNIT",
# "mapping FILE BUILD-ID functions"; "leaf COMM SAMPLES FUNCTION" and "stack STATE SECOND-VALUE FUNCTION;..." for each
# sample; "label KEY TEXT" for each label; "dangling WHAT" for an invalid reference; "FIELD VALUE" for all other fields.
function text(number) {
    if (number + 0 >= n_texts)
        dangling[++n_dangling] = "text " number
    return texts[number + 0]
}

$2 == "{" { # a nested message, such as "line" in "location"
    depth++
    name[depth] = $1
    if (depth == 1) {
        delete field
        n_locations = 0
        n_labels = 0
        value = ""
        second = 0
    }
    if ($1 == "label")
        n_labels++
    next
}

$1 == "}" {
    if (depth-- > 1)
        next
    if (name[1] ~ /_type$/)
        types[++n_types] = name[1] " " field["type"] " " field["unit"]
    else if (name[1] == "function")
        function_name[field["id"]] = field["name"]
    else if (name[1] == "mapping")
        mappings[++n_mappings] = field["id"] " " field["filename"] + 0 " " field["build_id"] + 0 " " field["has_functions"]
    else if (name[1] == "location") {
        location_function[field["id"]] = field["function_id"]
        location_mapping[field["id"]] = field["mapping_id"] + 0
    } else if (name[1] == "sample") {
        sample_leaf[++n_samples] = locations[1]
        sample_value[n_samples] = value
        sample_second[n_samples] = second
        sample_stack[n_samples] = ""
        for (i = n_locations; i >= 1; i--)
            sample_stack[n_samples] = sample_stack[n_samples] locations[i] " "
        for (i = 1; i <= n_labels; i++)
            sample_label[n_samples, i] = label[i, "key"] " " label[i, "str"]
        sample_labels[n_samples] = n_labels
        for (i = 1; i <= n_locations; i++)
            used[locations[i]]
    }
    next
}

{
    key = substr($1, 1, length($1) - 1)
    rest = substr($0, index($0, ": ") + 2)
}

depth == 0 && key == "string_table" { texts[n_texts++] = substr(rest, 2, length(rest) - 2); next }
depth == 0 && (key == "comment" || key == "default_sample_type") { plain[++n_plain] = key; plain_text[n_plain] = rest; next }
depth == 0 { print key, rest; next }
name[depth] == "label" { label[n_labels, key] = rest; next }
key == "location_id" { locations[++n_locations] = rest; next }
key == "value" && value == "" { value = rest; next }
key == "value" { second = rest; next }
{ field[key] = rest }

END {
    for (i = 1; i <= n_plain; i++)
        print plain[i], text(plain_text[i])
    for (i = 1; i <= n_types; i++) {
        split(types[i], part, " ")
        print part[1], text(part[2]) "/" text(part[3])
    }
    for (i = 1; i <= n_mappings; i++) {
        split(mappings[i], part, " ")
        known[part[1]]
        print "mapping", text(part[2]), text(part[3]), part[4] == "true" ? "functions" : ""
    }
    for (id in used)
        if (!(id in location_function) || !(location_function[id] in function_name))
            print "dangling location", id
        else if (location_mapping[id] && !(location_mapping[id] in known))
            print "dangling mapping", location_mapping[id]
    for (i = 1; i <= n_samples; i++) {
        comm = state = "?"
        for (k = 1; k <= sample_labels[i]; k++) {
            split(sample_label[i, k], part, " ")
            if (text(part[1]) == "comm")
                comm = text(part[2])
            if (text(part[1]) == "state")
                state = text(part[2])
            if (part[2] != "")
                labels[text(part[1]) " " text(part[2])]
        }
        print "leaf", comm, sample_value[i], text(function_name[location_function[sample_leaf[i]]])
        n = split(sample_stack[i], part, " ")
        stack = ""
        for (k = 1; k <= n; k++)
            stack = stack (k > 1 ? ";" : "") text(function_name[location_function[part[k]]])
        print "stack", state, sample_second[i], stack
    }
    for (label_text in labels)
        print "label", label_text
    for (i = 1; i <= n_dangling; i++)
        print "dangling", dangling[i]
}
