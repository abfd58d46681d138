package config

import "fmt"

// VersionRequest is the error of a command line that asks for the version instead of a node. Its text is the form.
type VersionRequest string

// The forms are those of upstream, and JSON.
const (
	ErrVersion     VersionRequest = "true" // one line, which kubeadm and installers parse
	ErrVersionRaw  VersionRequest = "raw"
	ErrVersionJSON VersionRequest = "json"
)

func (v VersionRequest) Error() string { return "version requested" }

// String returns the value of the flag.
func (v *VersionRequest) String() string {
	if v == nil || *v == "" {
		return "false"
	}
	return string(*v)
}

// Set parses the value of the flag.
func (v *VersionRequest) Set(text string) error {
	switch asked := VersionRequest(text); asked {
	case ErrVersion, ErrVersionRaw, ErrVersionJSON:
		*v = asked
	case "false":
		*v = ""
	default:
		return fmt.Errorf("want true, false, raw or json, got %q", text)
	}
	return nil
}

// Type says that the flag needs no value.
func (v *VersionRequest) Type() string { return "bool" }

// IsBoolFlag says the same to package flag.
func (v *VersionRequest) IsBoolFlag() bool { return true }
