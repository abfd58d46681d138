package node

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
)

// The grammar of image references that registries and runtimes share:
//
//	[registry[:port]/]path[:tag][@digest]
const (
	hostPart  = `(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])`
	hostName  = `(?:` + hostPart + `(?:\.` + hostPart + `)*|\[[0-9a-fA-F:]+\])(?::[0-9]+)?`
	pathPart  = `[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*`
	tagPart   = `[\w][\w.-]{0,127}`
	digest    = `[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}`
	maxPath   = 255
	idLength  = 64
	latestTag = ":latest"
)

var (
	referencePattern = regexp.MustCompile(
		`^((?:` + hostName + `/)?` + pathPart + `(?:/` + pathPart + `)*)(:` + tagPart + `)?(@` + digest + `)?$`)
	idPattern = regexp.MustCompile(`^[0-9a-f]{64}$`)
)

// NormalReference checks an image reference, and adds the default tag if it names neither
// tag nor digest. A short name stays short: the runtime decides which registry it stands for.
func NormalReference(ref string) (string, error) {
	parts := referencePattern.FindStringSubmatch(ref)
	switch {
	case parts == nil:
		return "", fmt.Errorf("image reference %q is not of the form [registry/]path[:tag][@digest]%s: %w", ref, slip(ref), ErrInvalid)
	case len(parts[1]) > maxPath:
		return "", fmt.Errorf("image reference %q has a name of more than %d characters: %w", ref, maxPath, ErrInvalid)
	case len(parts[1]) == idLength && idPattern.MatchString(parts[1]):
		return "", fmt.Errorf("image reference %q looks like an image id: %w", ref, ErrInvalid)
	case parts[2] == "" && parts[3] == "":
		return ref + latestTag, nil
	}
	return ref, nil
}

// ReferenceName returns a valid reference without its tag and digest.
func ReferenceName(ref string) string {
	parts := referencePattern.FindStringSubmatch(ref)
	if parts == nil {
		return ref
	}
	return parts[1]
}

// slip names what is commonly wrong with a reference, or returns "".
func slip(ref string) string {
	path, _, _ := strings.Cut(ref[strings.LastIndexByte(ref, '/')+1:], ":")
	switch {
	case strings.ContainsFunc(ref, unicode.IsSpace):
		return " (it holds a space)"
	case strings.Contains(ref, "://"):
		return " (leave out what stands before ://)"
	case path != strings.ToLower(path):
		return " (its path has capital letters)"
	}
	return ""
}
