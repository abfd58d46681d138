package registry

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"

	"nodal/node"
)

// dockerHub is the runtimes' name of the registry for short names; the library below has
// another name for it.
const dockerHub = "docker.io"

// fullReference writes a reference out as runtimes keep it: nginx becomes
// docker.io/library/nginx:latest.
func fullReference(reference string) (string, error) {
	tag, err := name.NewTag(reference)
	if err != nil {
		return "", fmt.Errorf("image name %q is not of the form [registry/]path[:tag]: %w", reference, node.ErrInvalid)
	}
	registry := tag.RegistryStr()
	if registry == name.DefaultRegistry {
		registry = dockerHub
	}
	if !wellFormed(registry, tag.RepositoryStr(), tag.TagStr()) {
		return "", fmt.Errorf("image name %q: no runtime takes it; use small letters, digits and single . _ - between them: %w",
			reference, node.ErrInvalid)
	}
	return registry + "/" + tag.RepositoryStr() + ":" + tag.TagStr(), nil
}

// fullReferences writes the names out in full: the chosen one, or those of the tarball.
func fullReferences(chosen string, own []string) ([]string, error) {
	if chosen != "" {
		own = []string{chosen}
	}
	var full []string
	for _, reference := range own {
		name, err := fullReference(reference)
		if err != nil {
			return nil, err
		}
		full = append(full, name)
	}
	return full, nil
}

// isBareTag reports whether an annotation holds only a tag, which names no image.
func isBareTag(reference string) bool { return !strings.ContainsAny(reference, "/:") }

// What runtimes take for the parts of a name. The library above takes more, such as parts that are dots.
var (
	registryForm   = regexp.MustCompile(`^([a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*|\[[0-9a-fA-F:]+\])(:[0-9]+)?$`)
	repositoryForm = regexp.MustCompile(`^[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*(/[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*)*$`)
	tagForm        = regexp.MustCompile(`^\w[\w.-]{0,127}$`)
)

const maxName = 255 // bytes of a registry and a repository

// wellFormed reports whether runtimes take the name.
func wellFormed(registry, repository, tag string) bool {
	return registryForm.MatchString(registry) && repositoryForm.MatchString(repository) && tagForm.MatchString(tag) &&
		len(registry)+len("/")+len(repository) <= maxName
}
