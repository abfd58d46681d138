package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"nodal/node/users"
)

// validate checks the settings, each by itself and with others, and returns all faults at once, each with the path of
// its field.
func validate(o *Options) error {
	k := &o.Kubelet
	errs := slices.Concat(
		checkEach(k),
		validateListen(k),
		validateSources(k),
		validateAuth(k),
		validateTLS(k),
		validateReserved(k),
		validateAssign(k),
		validateSysctls(k),
		validateTunables(o),
		validateUsers(k),
		validateImages(o),
		validateLogBudget(o),
		validateCluster(o),
		validateTracing(k),
		validateFiles(k),
		validateLock(o),
		validateShutdown(o),
		validateGates(k),
		validateMemory(k),
		validateSystem(k),
		validateReserve(k),
	)
	errs = append(errs, metav1validation.ValidateLabels(o.NodeLabels, field.NewPath("--node-labels"))...)
	errs = append(errs, metav1validation.ValidateLabels(o.fileLabels, field.NewPath("--node-labels-file"))...)
	if o.RootDir == "" {
		errs = append(errs, field.Required(field.NewPath("--root-dir"), ""))
	}
	if err := errs.ToAggregate(); err != nil {
		return fmt.Errorf("check configuration: %w", err)
	}
	return nil
}

func validateListen(k *kubelet.KubeletConfiguration) field.ErrorList {
	same := *k.EnableServer && k.Port == k.ReadOnlyPort && k.Port != 0
	return invalid(!same, field.NewPath("readOnlyPort"), k.ReadOnlyPort, "must differ from port")
}

func validateSources(k *kubelet.KubeletConfiguration) field.ErrorList {
	if k.StaticPodURL == "" {
		return nil
	}
	u, err := url.Parse(k.StaticPodURL)
	good := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	// The URL may hold a password, so it is not repeated.
	return invalid(good, field.NewPath("staticPodURL"), field.OmitValueType{}, "must be an http or https URL")
}

func validateAuth(k *kubelet.KubeletConfiguration) field.ErrorList {
	together := (k.TLSCertFile == "") == (k.TLSPrivateKeyFile == "")
	return invalid(together, field.NewPath("tlsCertFile"), k.TLSCertFile, "must be given together with tlsPrivateKeyFile")
}

// The modes of authorization beside the node's own roles.
const (
	alwaysAllow = string(kubelet.KubeletAuthorizationModeAlwaysAllow)
	webhook     = string(kubelet.KubeletAuthorizationModeWebhook)
)

// The ways in which containers may use the machine's swap.
const (
	noSwap      = "NoSwap"
	limitedSwap = "LimitedSwap"
)

func validateUsers(k *kubelet.KubeletConfiguration) field.ErrorList {
	if k.UserNamespaces == nil || k.UserNamespaces.IDsPerPod == nil {
		return nil
	}
	if n := *k.UserNamespaces.IDsPerPod; n <= 0 || n%users.Unit != 0 || n > math.MaxInt32 {
		rule := fmt.Sprintf("must be a multiple of %d, and less than %d", users.Unit, math.MaxInt32)
		return field.ErrorList{field.Invalid(field.NewPath("userNamespaces", "idsPerPod"), n, rule)}
	}
	return nil
}

var (
	// unsafeSysctl matches the name of a sysctl, or a prefix with a star.
	unsafeSysctl = regexp.MustCompile(`^[a-z0-9][-_a-z0-9./]*\*?$`)
	sysctlName   = regexp.MustCompile(`^[a-z0-9][-_a-z0-9./]*$`)
)

func validateSysctls(k *kubelet.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	for i, pattern := range k.AllowedUnsafeSysctls {
		path := field.NewPath("allowedUnsafeSysctls").Index(i)
		space, _, _ := sysctl.GetNamespace(pattern)
		switch {
		case !unsafeSysctl.MatchString(pattern):
			errs = append(errs, field.Invalid(path, pattern, "must be the name of a sysctl, or a prefix with a star"))
		case space == sysctl.UnknownNamespace:
			errs = append(errs, field.Invalid(path, pattern, "must be a namespaced sysctl: kernel.shm*, kernel.msg*, kernel.sem, fs.mqueue.* or net.*"))
		}
	}
	return slices.Concat(errs, validatePodSysctls(k.DefaultPodSysctls))
}

func validatePodSysctls(all map[string]string) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		path, dotted := field.NewPath("defaultPodSysctls").Key(name), sysctl.NormalizeName(name)
		space, _, _ := sysctl.GetNamespace(dotted)
		switch {
		case !sysctlName.MatchString(name):
			errs = append(errs, field.Invalid(path, name, "must be the name of a sysctl"))
		case space == sysctl.UnknownNamespace:
			errs = append(errs, field.Invalid(path, name, "must be a namespaced sysctl: kernel.shm*, kernel.msg*, kernel.sem, kernel.domainname, fs.mqueue.*, net.* or user.*"))
		case seen[dotted]:
			errs = append(errs, field.Duplicate(path, name))
		}
		seen[dotted] = true
	}
	return errs
}

func validNodeName(name string) error {
	if rules := validation.IsDNS1123Subdomain(name); len(rules) > 0 {
		return fmt.Errorf("check node name %q: %s", name, strings.Join(rules, "; "))
	}
	return nil
}

// nodeIPs parses one address, which may stand for its family, or one of each family joined by a comma.
func nodeIPs(list string) ([]netip.Addr, error) {
	if list == "" {
		return nil, nil
	}
	var ips []netip.Addr
	for s := range strings.SplitSeq(list, ",") {
		ip, err := netip.ParseAddr(strings.TrimSpace(s))
		if err != nil {
			return nil, fmt.Errorf("parse --node-ip: %w", err)
		}
		ips = append(ips, ip)
	}
	if len(ips) == 2 && slices.ContainsFunc(ips, netip.Addr.IsUnspecified) {
		return nil, errors.New("parse --node-ip: 0.0.0.0 and :: have to stand alone")
	}
	if len(ips) > 2 || len(ips) == 2 && ips[0].Is4() == ips[1].Is4() {
		return nil, errors.New("parse --node-ip: want one address, or one IPv4 and one IPv6")
	}
	return ips, nil
}
