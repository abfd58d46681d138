package rules

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// What the C library's resolver takes.
const (
	maxNameservers   = 3
	maxSearches      = 32
	maxSearchesBytes = 2048
	maxHostname      = 64 // the kernel's limit
	maxSysctlName    = 253
)

// host checks names and name resolution, and what the operating system decides.
func (c podCheck) host(at *field.Path) {
	spec := &c.pod.Spec
	oneOf(c.check, at.Child("dnsPolicy"), spec.DNSPolicy,
		corev1.DNSClusterFirst, corev1.DNSClusterFirstWithHostNet, corev1.DNSDefault, corev1.DNSNone)
	c.dns(at.Child("dnsConfig"))
	c.optionalName(at.Child("hostname"), spec.Hostname, validation.IsDNS1123Label)
	c.optionalName(at.Child("subdomain"), spec.Subdomain, validation.IsDNS1123Label)
	if name := spec.HostnameOverride; name != nil {
		c.hostnameOverride(*name, at)
	}
	for i, alias := range spec.HostAliases {
		path := at.Child("hostAliases").Index(i)
		c.errs = append(c.errs, validation.IsValidIP(path.Child("ip"), alias.IP)...)
		for j, name := range alias.Hostnames {
			c.badEach(path.Child("hostnames").Index(j), name, validation.IsDNS1123Subdomain(name))
		}
	}
	if spec.OS != nil && spec.OS.Name != corev1.Linux && spec.OS.Name != corev1.Windows {
		c.bad(at.Child("os", "name"), string(spec.OS.Name), "must be linux or windows")
	}
}

func (c podCheck) hostnameOverride(name string, at *field.Path) {
	path := at.Child("hostnameOverride")
	c.name(path, name, validation.IsDNS1123Subdomain)
	if len(name) > maxHostname {
		c.bad(path, name, validation.MaxLenError(maxHostname))
	}
	if c.pod.Spec.HostNetwork {
		c.refused(path, "may not be set when hostNetwork is true")
	}
	if fqdn := c.pod.Spec.SetHostnameAsFQDN; fqdn != nil && *fqdn {
		c.refused(path, "may not be set when setHostnameAsFQDN is true")
	}
}

func (c podCheck) dns(at *field.Path) {
	config := c.pod.Spec.DNSConfig
	if c.pod.Spec.DNSPolicy == corev1.DNSNone && (config == nil || len(config.Nameservers) == 0) {
		c.missing(at.Child("nameservers"), "must hold at least one when dnsPolicy is None")
	}
	if config == nil {
		return
	}
	if n := len(config.Nameservers); n > maxNameservers {
		c.bad(at.Child("nameservers"), n, fmt.Sprintf("must not have more than %d nameservers", maxNameservers))
	}
	for i, server := range config.Nameservers {
		c.errs = append(c.errs, validation.IsValidIP(at.Child("nameservers").Index(i), server)...)
	}
	searches := at.Child("searches")
	if n := len(config.Searches); n > maxSearches {
		c.bad(searches, n, fmt.Sprintf("must not have more than %d search paths", maxSearches))
	}
	if n := len(strings.Join(config.Searches, " ")); n > maxSearchesBytes {
		c.bad(searches, n, fmt.Sprintf("must not have more than %d characters in total", maxSearchesBytes))
	}
	for i, search := range config.Searches {
		if search == "." { // the root, which stops the resolver from trying others
			continue
		}
		c.badEach(searches.Index(i), search, validation.IsDNS1123SubdomainWithUnderscore(strings.TrimSuffix(search, ".")))
	}
	for i, option := range config.Options {
		c.given(at.Child("options").Index(i).Child("name"), option.Name)
	}
}

func (c podCheck) sysctls(sysctls []corev1.Sysctl, at *field.Path) {
	seen := map[string]bool{}
	for i, s := range sysctls {
		path := at.Index(i).Child("name")
		c.name(path, s.Name, sysctlName)
		name := strings.ReplaceAll(s.Name, "/", ".")
		c.unique(path, seen, s.Name)
		if c.pod.Spec.HostNetwork && strings.HasPrefix(name, "net.") {
			c.bad(path, s.Name, "may not be specified when hostNetwork is true")
		}
		ipc := strings.HasPrefix(name, "kernel.shm") || strings.HasPrefix(name, "kernel.msg") ||
			strings.HasPrefix(name, "fs.mqueue.") || name == "kernel.sem"
		if c.pod.Spec.HostIPC && ipc {
			c.bad(path, s.Name, "may not be specified when hostIPC is true")
		}
	}
}

// sysctlName accepts lower-case segments between dots or slashes.
func sysctlName(name string) []string {
	if len(name) > maxSysctlName {
		return []string{validation.MaxLenError(maxSysctlName)}
	}
	for segment := range strings.SplitSeq(strings.ReplaceAll(name, "/", "."), ".") {
		inner := strings.Trim(segment, "-_")
		if segment == "" || inner != segment || strings.ContainsFunc(segment, notSysctl) {
			return []string{"must be lower-case words of letters, digits, '-' and '_' between dots or slashes"}
		}
	}
	return nil
}

func notSysctl(r rune) bool {
	return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '-' || r == '_')
}
