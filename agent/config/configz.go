package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"

	kubelet "k8s.io/kubelet/config/v1beta1"
)

const redacted = "[REDACTED]"

// kubeletFlags are the flags that are no field of the file, in upstream's form.
type kubeletFlags struct {
	Kind                         string `json:"kind"`
	APIVersion                   string `json:"apiVersion"`
	HostnameOverride             string `json:"hostnameOverride,omitempty"`
	NodeIP                       string `json:"nodeIP,omitempty"`
	CertDirectory                string `json:"certDirectory,omitempty"`
	RootDirectory                string `json:"rootDirectory,omitempty"`
	KubeletConfigFile            string `json:"kubeletConfigFile,omitempty"`
	KubeletDropinConfigDirectory string `json:"kubeletDropinConfigDirectory,omitempty"`
	Socket                       string `json:"socket,omitempty"`     // ours
	SecretsKey                   string `json:"secretsKey,omitempty"` // ours
}

// flagsOf returns the flags that are no field, as they were given.
func flagsOf(o *Options, c *Config) kubeletFlags {
	return kubeletFlags{
		Kind:                         "KubeletFlags",
		APIVersion:                   "kubelet.config.k8s.io/v1alpha1",
		HostnameOverride:             o.HostnameOverride,
		NodeIP:                       o.NodeIP,
		CertDirectory:                c.Dirs.Cert,
		RootDirectory:                c.Dirs.Root,
		KubeletConfigFile:            o.ConfigFile,
		KubeletDropinConfigDirectory: o.ConfigDir,
		Socket:                       o.Socket,
		SecretsKey:                   c.Secrets.String(),
	}
}

// Configz returns the body of /configz: the whole configuration, with its defaults and without its secrets.
func (c *Config) Configz() ([]byte, error) {
	k := c.given.options.Kubelet.DeepCopy()
	redact(k)
	body := struct {
		KubeletConfig *kubelet.KubeletConfiguration `json:"kubeletconfig"`
		KubeletFlags  kubeletFlags                  `json:"kubeletflags"`
	}{k, c.given.flags}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("encode configuration: %w", err)
	}
	return data, nil
}

// Flagz returns every flag with its value, without secrets.
func (c *Config) Flagz() map[string]string {
	flags := maps.Clone(c.given.commandLine)
	for _, name := range []string{"manifest-url", "manifest-url-header", "storage-driver-password"} {
		if flags[name] != "" && flags[name] != "[]" {
			flags[name] = redacted
		}
	}
	return flags
}

// redact replaces values that may be credentials: those of headers, and the user and the query of the URL.
func redact(k *kubelet.KubeletConfiguration) {
	for name := range k.StaticPodURLHeader {
		k.StaticPodURLHeader[name] = []string{redacted}
	}
	u, err := url.Parse(k.StaticPodURL)
	if err != nil {
		k.StaticPodURL = redacted
		return
	}
	if u.User != nil || u.RawQuery != "" {
		u.User, u.RawQuery = nil, ""
		k.StaticPodURL = u.String() + " " + redacted
	}
}
