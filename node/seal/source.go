package seal

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
)

// Source names the place where the key lives.
type Source struct {
	Kind Kind
	Name string // the path of a file, the name of a credential, or the path of a plugin's socket
}

// Kind is a kind of source.
type Kind string

const (
	Beside     Kind = "beside"     // a file that the agent makes beside the journal
	File       Kind = "file"       // a file of the node's owner
	Credential Kind = "credential" // a credential that systemd hands to the agent's unit
	KMS        Kind = "kms"        // a KMS plugin, version 2 of Kubernetes' interface
)

const unix = "unix://"

// Parse reads a source as the setting spells it.
func Parse(text string) (Source, error) {
	kind, name, _ := strings.Cut(text, ":")
	s := Source{Kind: Kind(kind), Name: name}
	switch s.Kind {
	case Beside:
		if text != string(Beside) {
			return s, errors.New("beside takes no path; write file:/PATH for a key elsewhere")
		}
	case File:
		if !filepath.IsAbs(name) {
			return s, errors.New("write file: with an absolute path")
		}
		s.Name = filepath.Clean(name)
	case Credential:
		if name == "" || name == "." || name == ".." || strings.Contains(name, "/") {
			return s, errors.New("write credential: with the name of the credential, as in the unit")
		}
	case KMS:
		path, ok := strings.CutPrefix(name, unix)
		if !ok || !filepath.IsAbs(path) {
			return s, errors.New("write kms:unix:// with the absolute path of the plugin's socket")
		}
		s.Name = filepath.Clean(path)
	default:
		return s, fmt.Errorf("%q is no source; use beside, file:/PATH, credential:NAME or kms:unix:///PATH", kind)
	}
	return s, nil
}

// String returns the source as the setting spells it.
func (s Source) String() string {
	switch s.Kind {
	case Beside:
		return string(Beside)
	case KMS:
		return string(KMS) + ":" + unix + s.Name
	}
	return string(s.Kind) + ":" + s.Name
}
