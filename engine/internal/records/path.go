package records

import (
	"encoding/json"
	"unicode/utf8"
)

// A Path is a slash-separated path below the worktree, bytes as on disk. In
// JSON a path that is not UTF-8 is an object {"b64": …}, so that no byte is
// lost.
type Path string

// MarshalJSON keeps bytes that are not UTF-8.
func (p Path) MarshalJSON() ([]byte, error) {
	if s := string(p); utf8.ValidString(s) {
		return json.Marshal(s)
	}
	return json.Marshal(struct {
		B64 []byte `json:"b64"`
	}{[]byte(p)})
}

// UnmarshalJSON accepts what [Path.MarshalJSON] gives.
func (p *Path) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '{' {
		var raw struct {
			B64 []byte `json:"b64"`
		}
		err := json.Unmarshal(data, &raw)
		*p = Path(raw.B64)
		return err
	}
	return json.Unmarshal(data, (*string)(p))
}
