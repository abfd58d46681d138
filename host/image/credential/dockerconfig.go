package credential

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"nodal/node"
)

// login is an entry of Docker's configuration for one registry.
type login struct {
	Username      string `json:"username"`
	Password      string `json:"password"`
	Auth          string `json:"auth"` // username:password, in base64
	IdentityToken string `json:"identitytoken"`
	RegistryToken string `json:"registrytoken"`
}

// credential returns the content of an entry. It is empty if a helper program keeps the content.
func (l login) credential() (node.Credential, error) {
	c := node.Credential{Username: l.Username, Password: l.Password, IdentityToken: l.IdentityToken, RegistryToken: l.RegistryToken}
	if l.Auth == "" {
		return c, nil
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(l.Auth, "="))
	if err != nil {
		return c, errors.New(`"auth" is not base64`)
	}
	name, password, found := strings.Cut(string(plain), ":")
	if !found {
		return c, errors.New(`"auth" is not of the form username:password`)
	}
	c.Username, c.Password = name, password
	return c, nil
}

// parse reads a config.json.
func parse(data []byte) (Keyring, error) {
	var config struct {
		Auths map[string]login `json:"auths"`
	}
	if err := json.Unmarshal(data, &config); err != nil {
		return nil, unreadable(err)
	}
	return keyringOf(config.Auths)
}

// parseLegacy reads a .dockercfg, the older form.
func parseLegacy(data []byte) (Keyring, error) {
	var logins map[string]login
	if err := json.Unmarshal(data, &logins); err != nil {
		return nil, unreadable(err)
	}
	return keyringOf(logins)
}

// unreadable words an error of package json without its quotes of the input, which holds passwords.
func unreadable(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return fmt.Errorf("it is not JSON: the fault is at byte %d: %w", syntax.Offset, node.ErrInvalid)
	}
	return fmt.Errorf("it does not have the form of Docker's configuration: %w", node.ErrInvalid)
}

func keyringOf(logins map[string]login) (Keyring, error) {
	var keys Keyring
	for host, login := range logins {
		c, err := login.credential()
		if err != nil {
			return nil, fmt.Errorf("the entry for %q: %w: %w", host, err, node.ErrInvalid)
		}
		if c != (node.Credential{}) {
			keys = append(keys, entry{parsePattern(host), Key{Credential: c}})
		}
	}
	return keys.sorted(), nil
}

// OfSecret reads a pull secret.
func OfSecret(secret *corev1.Secret) (Keyring, error) {
	read, key := parse, corev1.DockerConfigJsonKey
	switch secret.Type {
	case corev1.SecretTypeDockerConfigJson:
	case corev1.SecretTypeDockercfg:
		read, key = parseLegacy, corev1.DockerConfigKey
	default:
		return nil, fmt.Errorf("it is of type %q, not %s or %s: %w",
			secret.Type, corev1.SecretTypeDockerConfigJson, corev1.SecretTypeDockercfg, node.ErrInvalid)
	}
	data, ok := secret.Data[key]
	if !ok {
		return nil, fmt.Errorf("it has no key %s: %w", key, node.ErrInvalid)
	}
	keys, err := read(data)
	if err != nil {
		return nil, fmt.Errorf("key %s: %w", key, err)
	}
	from := &Secret{Ref: node.ObjectRef{Kind: node.Secret, Namespace: secret.Namespace, Name: secret.Name}, UID: secret.UID}
	for i := range keys {
		keys[i].key.Secret = from
	}
	return keys, nil
}
