package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// Stage tells the entries of one request apart.
type Stage string

const (
	Received Stage = "received" // allowed, and about to run
	Done     Stage = "done"     // ended, with its outcome
	Refused  Stage = "refused"  // not allowed, and not run
	LeftOut  Stage = "leftOut"  // stands for entries that were not written
)

// Decisions about a request.
const (
	Allowed = "allowed"
	Denied  = "denied"
)

// Entry is one line of the audit log.
type Entry struct {
	Time        time.Time       `json:"time"`
	ID          string          `json:"id,omitempty"` // the same in all entries of one request
	Stage       Stage           `json:"stage"`
	User        string          `json:"user,omitempty"` // empty if the caller proved no identity
	Role        string          `json:"role,omitempty"`
	Via         string          `json:"via,omitempty"`
	Credential  string          `json:"credential,omitempty"` // the token, where several had one name
	Groups      []string        `json:"groups,omitempty"`
	From        string          `json:"from,omitempty"`
	Verb        Verb            `json:"verb,omitempty"`
	Method      string          `json:"method,omitempty"`
	Object      *Object         `json:"object,omitempty"`
	Objects     []Object        `json:"objects,omitempty"` // of a manifest
	MoreObjects int             `json:"moreObjects,omitempty"`
	Container   string          `json:"container,omitempty"`
	Command     *Command        `json:"command,omitempty"`
	Ports       []int32         `json:"ports,omitempty"`
	Decision    string          `json:"decision,omitempty"`
	Outcome     string          `json:"outcome,omitempty"`
	ExitCode    *int32          `json:"exitCode,omitempty"`
	TookMS      int64           `json:"tookMs,omitempty"`
	Request     json.RawMessage `json:"request,omitempty"`
	LeftOut     int64           `json:"leftOut,omitempty"`
	Reason      string          `json:"reason,omitempty"`
}

// Object names what a request is about.
type Object struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	UID       string `json:"uid,omitempty"`
	Revision  int64  `json:"revision,omitempty"`
}

// Command identifies a command without showing it: commands carry passwords.
type Command struct {
	SHA256 string `json:"sha256"`
	Words  int    `json:"words"`
	Bytes  int    `json:"bytes"`
}

// CommandOf identifies a command by its words, which a program cannot tell from others with NUL characters between.
func CommandOf(words []string) *Command {
	if len(words) == 0 {
		return nil
	}
	text := strings.Join(words, "\x00")
	sum := sha256.Sum256([]byte(text))
	return &Command{SHA256: hex.EncodeToString(sum[:]), Words: len(words), Bytes: len(text)}
}

const (
	// Most entries have a few objects and short names. These limits keep a hostile caller's short too.
	maxText    = 256
	maxObjects = 32
	maxGroups  = 16
	maxPorts   = 16
	maxRequest = 32 << 10
)

// Line returns the entry as a line of JSON without its end. It shortens what is too long. Newlines and control
// characters are escaped, so that no caller can write a line of its own.
func (e Entry) Line() ([]byte, error) {
	e.shorten()
	line, err := json.Marshal(e)
	if err != nil {
		return nil, fmt.Errorf("encode an entry of the audit log: %w", err)
	}
	return line, nil
}

func (e *Entry) shorten() {
	for _, text := range []*string{&e.User, &e.Role, &e.Via, &e.Credential, &e.From, &e.Method, &e.Container, &e.Outcome, &e.Reason} {
		*text = short(*text)
	}
	e.Groups = append([]string(nil), e.Groups[:min(len(e.Groups), maxGroups)]...)
	for i := range e.Groups {
		e.Groups[i] = short(e.Groups[i])
	}
	if e.Object != nil {
		object := e.Object.short()
		e.Object = &object
	}
	e.MoreObjects += max(0, len(e.Objects)-maxObjects)
	e.Objects = append([]Object(nil), e.Objects[:min(len(e.Objects), maxObjects)]...)
	for i := range e.Objects {
		e.Objects[i] = e.Objects[i].short()
	}
	e.Ports = e.Ports[:min(len(e.Ports), maxPorts)]
	if len(e.Request) > maxRequest {
		e.Request = json.RawMessage(fmt.Sprintf(`{"tooLarge":%d}`, len(e.Request)))
	}
}

func (o Object) short() Object {
	o.Kind, o.Namespace, o.Name, o.UID = short(o.Kind), short(o.Namespace), short(o.Name), short(o.UID)
	return o
}

// short cuts a text between two characters.
func short(text string) string {
	if len(text) <= maxText {
		return text
	}
	end := maxText
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "..."
}

// Parse reads a line. It reports false for one that is no entry, such as the last line before a crash.
func Parse(line []byte) (Entry, bool) {
	var e Entry
	if json.Unmarshal(line, &e) != nil || e.Stage == "" {
		return Entry{}, false
	}
	return e, true
}
