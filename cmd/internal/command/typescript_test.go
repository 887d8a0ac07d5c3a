package command

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

// typesFile is what the extensions for Pi and VS Code know of the protocol's results.
const typesFile = "../../../extension/pi/src/protocol.ts"

var result = regexp.MustCompile(`^(\w)(\w*)\.result$`)

// typescript is typesFile: the records of the schema, and the results that are no record.
// A field that need not be there is optional.
func typescript(t *testing.T, defs map[string]*jsonschema.Schema) []byte {
	var out bytes.Buffer
	fmt.Fprint(&out, "// The results of `rewind serve --stdio`, as docs/protocol.schema.json has them. Written by\n// `go test ./cmd/internal/command -run Reference -update`: change the program, not this file.\n")
	for _, name := range slices.Sorted(maps.Keys(defs)) {
		def := defs[name]
		if m := result.FindStringSubmatch(name); m != nil && def.Ref == "" {
			name = strings.ToUpper(m[1]) + m[2] + "Result"
		} else if strings.ToLower(name[:1]) == name[:1] {
			continue
		}
		fmt.Fprintf(&out, "\nexport interface %s {\n", name)
		for _, field := range def.PropertyOrder {
			value, maybe, means := def.Properties[field], "?", ""
			if value.Description != "" {
				means = "/** " + value.Description + " */ "
			}
			if slices.Contains(def.Required, field) {
				maybe = ""
			}
			fmt.Fprintf(&out, "  %s%s%s: %s;\n", means, field, maybe, typeOf(t, value))
		}
		out.WriteString("}\n")
	}
	return out.Bytes()
}

// typeOf is the type of the values that a schema allows.
func typeOf(t *testing.T, s *jsonschema.Schema) string {
	switch {
	case s.Ref != "":
		return strings.TrimPrefix(s.Ref, "#/$defs/")
	case s.Enum != nil:
		var all []string
		for _, one := range s.Enum {
			all = append(all, fmt.Sprintf("%q", one))
		}
		return strings.Join(all, " | ")
	case s.AnyOf != nil:
		var all []string
		for _, one := range s.AnyOf {
			all = append(all, typeOf(t, one))
		}
		return strings.Join(all, " | ")
	}
	switch s.Type {
	case "string", "boolean":
		return s.Type
	case "integer", "number":
		return "number"
	case "array":
		if of := typeOf(t, s.Items); !strings.Contains(of, " ") {
			return of + "[]"
		}
		return "(" + typeOf(t, s.Items) + ")[]"
	case "object":
		if s.AdditionalProperties != nil {
			return "{ [name: string]: " + typeOf(t, s.AdditionalProperties) + " }"
		}
		var fields []string
		for _, name := range s.PropertyOrder {
			fields = append(fields, name+": "+typeOf(t, s.Properties[name]))
		}
		return "{ " + strings.Join(fields, "; ") + " }"
	}
	t.Fatalf("what is %+v in TypeScript?", s)
	return ""
}
