package credential

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

func TestPatternsMatch(t *testing.T) {
	for _, c := range []struct {
		pattern, image string
		want           bool
	}{
		{"registry.example", "registry.example/app:1", true},
		{"https://registry.example/v2/", "registry.example/app", true},
		{"registry.example", "registry.example:5000/app", false},
		{"registry.example:5000", "registry.example:5000/app@sha256:abc", true},
		{"registry.example:5000", "registry.example/app", false},
		{"*.example", "registry.example/app", true},
		{"*.example", "eu.registry.example/app", false},
		{"*.*.example", "eu.registry.example/app", true},
		{"prefix.*.io", "prefix.kubernetes.io/app", true},
		{"*-good.kubernetes.io", "prefix-good.kubernetes.io/app", true},
		{"*-good.kubernetes.io", "prefix.kubernetes.io/app", false},
		{"*", "registry.example/app", false},
		{"registry.example/images", "registry.example/images/app", true},
		{"registry.example/images", "registry.example/other/app", false},
		{"registry.example/images/app", "registry.example/images", false},
		{"https://index.docker.io/v1/", "nginx", true},
		{"https://index.docker.io/v1/", "team/app:1", true},
		{"docker.io", "docker.io/library/nginx:1", true},
		{"index.docker.io", "registry.example/nginx", false},
		{"127.0.0.1:5000", "127.0.0.1:5000/app", true},
		{"[", "registry.example/app", false},
	} {
		if got := parsePattern(c.pattern).matches(nameOf(c.image)); got != c.want {
			t.Errorf("%s for %s: got %t, want %t", c.pattern, c.image, got, c.want)
		}
	}
}

func basic(user string) string {
	return fmt.Sprintf(`{"auth": %q}`, base64.StdEncoding.EncodeToString([]byte(user+":secret:of "+user)))
}

// users lists the users that are tried, in order.
func users(keys []Key) string {
	var names []string
	for _, k := range keys {
		names = append(names, k.Username)
	}
	return strings.Join(names, " ")
}

func TestTheMostSpecificCredentialIsTriedFirst(t *testing.T) {
	keys, err := parse([]byte(`{"auths": {
		"registry.example": ` + basic("all") + `,
		"registry.example/team/app": ` + basic("app") + `,
		"registry.example/team": ` + basic("team") + `,
		"other.example": ` + basic("other") + `,
		"helped.example": {}}}`))
	if err != nil {
		t.Fatal(err)
	}
	for image, want := range map[string]string{
		"registry.example/team/app:1": "app team all",
		"registry.example/x":          "all",
		"other.example/x":             "other",
		"helped.example/x":            "",
		"nginx":                       "",
	} {
		if got := users(keys.For(image)); got != want {
			t.Errorf("%s: got %q, want %q", image, got, want)
		}
	}
	if got := keys.For("other.example/x")[0]; got.Password != "secret:of other" || got.Secret != nil {
		t.Errorf("got password %q, want all that follows the first colon", got.Password)
	}
	if got := users(Join(keys, keys).For("other.example/x")); got != "other" {
		t.Errorf("from two places: got %q, want it once", got)
	}
}

func TestSecrets(t *testing.T) {
	config := `{"auths": {"registry.example": ` + basic("me") + `}}`
	legacy := `{"registry.example": {"username": "me", "password": "secret"}}`
	for _, c := range []struct {
		name   string
		kind   corev1.SecretType
		data   map[string]string
		broken string // empty: it holds a key
	}{
		{"a config.json", corev1.SecretTypeDockerConfigJson, map[string]string{".dockerconfigjson": config}, ""},
		{"a .dockercfg", corev1.SecretTypeDockercfg, map[string]string{".dockercfg": legacy}, ""},
		{"another type", corev1.SecretTypeOpaque, map[string]string{".dockerconfigjson": config}, `it is of type "Opaque"`},
		{"without its key", corev1.SecretTypeDockerConfigJson, map[string]string{"config": config}, "it has no key .dockerconfigjson"},
		{"no JSON", corev1.SecretTypeDockerConfigJson, map[string]string{".dockerconfigjson": `{"auths": hunter2}`}, "not JSON"},
		{"another shape", corev1.SecretTypeDockercfg, map[string]string{".dockercfg": `{"registry.example": "hunter2"}`}, "Docker's configuration"},
		{"no base64", corev1.SecretTypeDockercfg, map[string]string{".dockercfg": `{"registry.example": {"auth": "hunter2!"}}`}, "base64"},
		{"no colon", corev1.SecretTypeDockercfg, map[string]string{".dockercfg": `{"registry.example": {"auth": "aHVudGVyMg=="}}`}, "username:password"},
	} {
		t.Run(c.name, func(t *testing.T) {
			secret := &corev1.Secret{Type: c.kind, Data: map[string][]byte{}}
			secret.Namespace, secret.Name, secret.UID = "default", "pull", "uid-1"
			for key, value := range c.data {
				secret.Data[key] = []byte(value)
			}
			keys, err := OfSecret(secret)
			if c.broken != "" {
				if !errors.Is(err, node.ErrInvalid) || !strings.Contains(err.Error(), c.broken) || strings.Contains(err.Error(), "hunter2") {
					t.Errorf("got %v, want it invalid, that %s, and no content", err, c.broken)
				}
				return
			}
			found := keys.For("registry.example/app")
			if err != nil || users(found) != "me" || found[0].Secret == nil || found[0].Secret.UID != "uid-1" {
				t.Errorf("got %q, %v, want a key from the secret", users(found), err)
			}
		})
	}
}

func TestFirstFileOfTheNodeHolds(t *testing.T) {
	dir := t.TempDir()
	files := Files{Root: filepath.Join(dir, "root"), Dir: filepath.Join(dir, "here"), Home: filepath.Join(dir, "home")}
	if keys, err := files.Read(); len(keys) != 0 || err != nil {
		t.Errorf("without files: got %v, %v", keys, err)
	}
	write := func(path, content string) {
		path = filepath.Join(dir, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	// From the last place to the first: each takes over.
	for _, place := range []string{"home/.dockercfg", "here/.dockercfg", "root/.dockercfg", "home/.docker/config.json", "here/config.json", "root/config.json"} {
		content := `{"registry.example": ` + basic(place) + `}`
		if strings.HasSuffix(place, ".json") {
			content = `{"auths": ` + content + `}`
		}
		write(place, content)
		keys, err := files.Read()
		if got := users(keys.For("registry.example/app")); got != place || err != nil {
			t.Errorf("got %q, %v, want %q", got, err, place)
		}
	}
	write("root/config.json", "{")
	keys, err := files.Read()
	if got := users(keys.For("registry.example/app")); got != "here/config.json" || !errors.Is(err, node.ErrInvalid) {
		t.Errorf("a broken file: got %q, %v, want the next one, and to be told", got, err)
	}
}

func TestCredentialsShowNothing(t *testing.T) {
	key := Key{Credential: node.Credential{Username: "me", Password: "hunter2", IdentityToken: "hunter2", RegistryToken: "hunter2"}}
	var out strings.Builder
	slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "key", key, "keys", []Key{key}, "c", &key.Credential)
	slog.New(slog.NewTextHandler(&out, nil)).Info("x", "key", key, "keys", []Key{key}, "c", &key.Credential)
	text, err := json.Marshal(key)
	if err != nil {
		t.Fatal(err)
	}
	shown := slices.Concat([]string{out.String(), string(text)}, []string{
		fmt.Sprint(key), fmt.Sprintf("%+v", key), fmt.Sprintf("%#v", key), fmt.Sprintf("%v %#v", Keyring{{key: key}}, Keyring{{key: key}}), key.String(),
	})
	for _, s := range shown {
		if strings.Contains(s, "hunter2") {
			t.Errorf("it shows itself: %s", s)
		}
	}
}
