package command

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"maps"
	"os"
	"path"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/seed-82afce7a/rewind/cmd/internal/verb"
	"github.com/seed-82afce7a/rewind/cmd/internal/wire"
	"github.com/seed-82afce7a/rewind/engine"
)

const schemaDoc = "../../../docs/protocol.schema.json"

// letters is the type of what says how a path differs.
var letters = reflect.TypeOf(wire.Change{}.Status)

// A described is docs/protocol.schema.json while it is made: of the table of verbs, of the
// types of parameters and results, and of what the sources say of their fields.
type described struct {
	*shapes
	defs  map[string]*jsonschema.Schema
	names map[string]reflect.Type // of those that are types
}

// of describes the values of a type: a struct that has a name is referred to by it.
func (d *described) of(t reflect.Type) *jsonschema.Schema {
	switch t {
	case reflect.TypeFor[time.Time]():
		return &jsonschema.Schema{Type: "string", Format: "date-time"}
	case reflect.TypeFor[json.RawMessage]():
		return ref("id")
	case reflect.TypeFor[engine.Path]():
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{
			{Type: "string"}, object("its bytes, where it is not UTF-8", []string{"b64"}, "b64", d.of(reflect.TypeFor[[]byte]())),
		}}
	case letters:
		return &jsonschema.Schema{Type: "string", Enum: []any{"A", "D", "M", "T"}}
	case reflect.TypeFor[engine.ID]():
		return &jsonschema.Schema{Type: "string"}
	case reflect.TypeFor[[]byte]():
		return &jsonschema.Schema{Type: "string", ContentEncoding: "base64"}
	}
	if t.Implements(reflect.TypeFor[json.Marshaler]()) {
		d.t.Fatalf("%s says itself what it is in JSON", t)
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.of(t.Elem())
	case reflect.Slice:
		return &jsonschema.Schema{Type: "array", Items: d.of(t.Elem())}
	case reflect.Map:
		return &jsonschema.Schema{Type: "object", AdditionalProperties: d.of(t.Elem())}
	case reflect.Struct:
		return d.named(t)
	case reflect.Interface:
		return &jsonschema.Schema{}
	}
	kind := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.String: "string", reflect.Float64: "number", reflect.Int: "integer", reflect.Int64: "integer", reflect.Uint64: "integer"}[t.Kind()]
	if kind == "" {
		d.t.Fatalf("what is %s in JSON?", t)
	}
	return &jsonschema.Schema{Type: kind}
}

func ref(name string) *jsonschema.Schema { return &jsonschema.Schema{Ref: "#/$defs/" + name} }

// object is an object with properties: a name and what is there, in turns.
func object(about string, need []string, properties ...any) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Description: about, Required: need, Properties: map[string]*jsonschema.Schema{}}
	for i := 0; i < len(properties); i += 2 {
		name := properties[i].(string)
		s.Properties[name], s.PropertyOrder = properties[i+1].(*jsonschema.Schema), append(s.PropertyOrder, name)
	}
	return s
}

func (d *described) named(t reflect.Type) *jsonschema.Schema {
	name := strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
	if other, ok := d.names[name]; ok && other != t {
		d.t.Fatalf("both %s and %s would be %s", other, t, name)
	} else if !ok {
		d.names[name] = t
		d.defs[name] = d.fields(t, nil)
	}
	return ref(name)
}

// fields describes a struct, with those of what is embedded, but for those of which the
// outer has its own.
func (d *described) fields(t reflect.Type, hidden map[string]bool) *jsonschema.Schema {
	s := object("", nil)
	own := maps.Clone(hidden)
	if own == nil {
		own = map[string]bool{}
	}
	for i := range t.NumField() {
		if name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ","); !t.Field(i).Anonymous {
			own[name] = true
		}
	}
	spec := d.types[path.Base(t.PkgPath())+"."+t.Name()]
	for i := range t.NumField() {
		f := t.Field(i)
		name, how, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case f.Anonymous:
			d.embed(s, f.Type, own)
		case f.IsExported() && name != "-" && !hidden[name]:
			if name == "" {
				d.t.Fatalf("%s.%s has no name in JSON", t, f.Name)
			}
			value := d.of(f.Type)
			value.Description = comment(spec, f.Name)
			s.Properties[name], s.PropertyOrder = value, append(s.PropertyOrder, name)
			if how == "" {
				s.Required = append(s.Required, name)
			}
		}
	}
	return s
}

// embed adds the fields of what is embedded. Behind a pointer there may be nothing.
func (d *described) embed(s *jsonschema.Schema, t reflect.Type, own map[string]bool) {
	maybe := t.Kind() == reflect.Pointer
	if maybe {
		t = t.Elem()
	}
	inner := d.fields(t, own)
	maps.Copy(s.Properties, inner.Properties)
	s.PropertyOrder = append(s.PropertyOrder, inner.PropertyOrder...)
	if !maybe {
		s.Required = append(s.Required, inner.Required...)
	}
}

// comment is what the source says of a field, behind it.
func comment(spec *ast.TypeSpec, field string) string {
	if spec == nil {
		return ""
	}
	fields, ok := spec.Type.(*ast.StructType)
	if !ok {
		return ""
	}
	for _, f := range fields.Fields.List {
		for _, name := range f.Names {
			if name.Name == field {
				return strings.Join(strings.Fields(f.Comment.Text()), " ")
			}
		}
	}
	return ""
}

// parameters describes those of a method.
func (d *described) parameters(v verb.Verb) *jsonschema.Schema {
	s := object("", nil)
	for _, p := range v.Params() {
		value := d.of(p.Type)
		value.Description = strings.NewReplacer("<", "", ">", "").Replace(p.Help)
		s.Properties[p.Name], s.PropertyOrder = value, append(s.PropertyOrder, p.Name)
		if p.Need {
			s.Required = append(s.Required, p.Name)
		}
	}
	return s
}

func constant(value any) *jsonschema.Schema { return &jsonschema.Schema{Const: &value} }

// schema is what docs/protocol.schema.json says.
func schema(t *testing.T) *jsonschema.Schema {
	d := &described{newShapes(t), map[string]*jsonschema.Schema{}, map[string]reflect.Type{}}
	version := constant("2.0")
	request := object("What a client asks. Unknown parameters are ignored.", []string{"jsonrpc", "id", "method"}, "jsonrpc", version, "id", ref("id"), "method", &jsonschema.Schema{Type: "string"}, "params", &jsonschema.Schema{Type: "object"})
	for _, v := range append([]verb.Verb{verb.Handshake}, verb.Verbs()...) {
		params, result := v.Name+".params", v.Name+".result"
		d.defs[params] = d.parameters(v)
		d.defs[result] = d.result(v)
		one := object("", nil, "method", constant(v.Name), "params", ref(params))
		one.Type = ""
		if d.defs[params].Required != nil {
			one.Required = []string{"params"}
		}
		request.OneOf = append(request.OneOf, one)
	}
	d.defs["id"] = &jsonschema.Schema{Types: []string{"string", "number"}, Description: "of a request, which its answer repeats"}
	d.defs["request"] = request
	d.defs["answer"] = object("What a request is answered. Which result it is depends on the method: METHOD.result.", []string{"jsonrpc", "id"},
		"jsonrpc", version, "id", &jsonschema.Schema{AnyOf: []*jsonschema.Schema{ref("id"), {Type: "null"}}}, "result", &jsonschema.Schema{Type: "object"}, "error", ref("error"))
	d.defs["answer"].OneOf = []*jsonschema.Schema{{Required: []string{"result"}}, {Required: []string{"error"}}}
	exit := &jsonschema.Schema{Type: "integer", Description: "the exit code that a command would have"}
	d.defs["error"] = object("Why there is no result.", []string{"code", "message"},
		"code", &jsonschema.Schema{Type: "integer", Description: "docs/protocol.md says what each means"},
		"message", &jsonschema.Schema{Type: "string", Description: "one sentence for a person"}, "data", object("", []string{"exit"}, "exit", exit))
	notifications := map[string]*jsonschema.Schema{
		"cancel":   object("From the client: the request with this id stops as soon as it can.", []string{"id"}, "id", ref("id")),
		"progress": d.fields(reflect.TypeFor[verb.Progress](), nil),
		"warning":  d.fields(reflect.TypeFor[verb.Warning](), nil),
	}
	all := []*jsonschema.Schema{ref("request"), ref("answer")}
	for _, name := range []string{"cancel", "progress", "warning"} {
		d.defs[name+".params"] = notifications[name]
		d.defs[name] = object("", []string{"jsonrpc", "method", "params"}, "jsonrpc", version, "method", constant(name), "params", ref(name+".params"))
		d.defs[name].Not = &jsonschema.Schema{Required: []string{"id"}}
		all = append(all, ref(name))
	}
	return &jsonschema.Schema{
		Schema: "https://json-schema.org/draft/2020-12/schema", Title: "The protocol of rewind serve --stdio, version 1",
		Description: "One message, which is one line. METHOD.params and METHOD.result are what each method takes and gives. Within a version only optional parameters, fields of results and methods are added: ignore what you do not know. Written by `go test ./cmd/internal/command -run Reference -update`.",
		AnyOf:       all, Defs: d.defs,
	}
}

// filed is a schema as the file has it.
func filed(t *testing.T, s *jsonschema.Schema) []byte {
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := json.Indent(&out, data, "", "  "); err != nil {
		t.Fatal(err)
	}
	return append(out.Bytes(), '\n')
}

// result describes what a method gives.
func (d *described) result(v verb.Verb) *jsonschema.Schema {
	if t := v.Gives; t.Kind() == reflect.Pointer || t.Name() != "" && t.PkgPath() != reflect.TypeFor[verb.Verb]().PkgPath() {
		return d.of(t)
	}
	return d.fields(v.Gives, nil)
}

func TestTheReferenceForOtherLanguagesIsWhatTheProgramSays(t *testing.T) {
	s := schema(t)
	for file, want := range map[string][]byte{schemaDoc: filed(t, s), typesFile: typescript(t, s.Defs)} {
		if *update {
			if err := os.WriteFile(file, want, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s does not say what the program says (%v); run the command that it names", file, err)
		}
	}
}
