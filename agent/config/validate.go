package config

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"net/netip"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/component-helpers/node/util/sysctl"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"nodal/node/users"
)

// validate checks the fields that have an effect, and returns all that is
// wrong at once, each with the path of its field.
func validate(o *Options) error {
	k := &o.Kubelet
	errs := slices.Concat(
		validateListen(k),
		validateSources(k),
		validateAuth(k),
		validateRuntime(k),
		validateCgroups(k),
		validateReserved(k),
		validateAssign(k),
		validateSysctls(k),
		validateTunables(o),
		validateUsers(k),
		validateLogs(k),
		validateImages(o),
		validateCluster(o),
		validateTracing(k),
		validateGates(k),
	)
	errs = append(errs, metav1validation.ValidateLabels(o.NodeLabels, field.NewPath("--node-labels"))...)
	if o.RootDir == "" {
		errs = append(errs, field.Required(field.NewPath("--root-dir"), ""))
	}
	if err := errs.ToAggregate(); err != nil {
		return fmt.Errorf("check configuration: %w", err)
	}
	return nil
}

func validateListen(k *kubelet.KubeletConfiguration) field.ErrorList {
	errs := slices.Concat(
		between("port", k.Port, 1, 65535),
		between("readOnlyPort", k.ReadOnlyPort, 0, 65535),
		between("healthzPort", *k.HealthzPort, 0, 65535),
		address("address", k.Address),
		address("healthzBindAddress", k.HealthzBindAddress),
	)
	if *k.EnableServer && k.Port == k.ReadOnlyPort && k.Port != 0 {
		errs = append(errs, field.Invalid(field.NewPath("readOnlyPort"), k.ReadOnlyPort, "must differ from port"))
	}
	return errs
}

func validateSources(k *kubelet.KubeletConfiguration) field.ErrorList {
	errs := slices.Concat(
		positive("fileCheckFrequency", k.FileCheckFrequency.Duration),
		positive("httpCheckFrequency", k.HTTPCheckFrequency.Duration),
	)
	if k.StaticPodURL == "" {
		return errs
	}
	u, err := url.Parse(k.StaticPodURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		// The URL may hold a password, so it is not repeated.
		errs = append(errs, field.Invalid(field.NewPath("staticPodURL"), field.OmitValueType{}, "must be an http or https URL"))
	}
	return errs
}

func validateAuth(k *kubelet.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	modes := []kubelet.KubeletAuthorizationMode{
		"", kubelet.KubeletAuthorizationModeAlwaysAllow, kubelet.KubeletAuthorizationModeWebhook,
	}
	if !slices.Contains(modes, k.Authorization.Mode) {
		errs = append(errs, field.NotSupported(field.NewPath("authorization", "mode"), k.Authorization.Mode, modes[1:]))
	}
	if (k.TLSCertFile == "") != (k.TLSPrivateKeyFile == "") {
		errs = append(errs, field.Invalid(field.NewPath("tlsCertFile"), k.TLSCertFile, "must be given together with tlsPrivateKeyFile"))
	}
	return errs
}

func validateRuntime(k *kubelet.KubeletConfiguration) field.ErrorList {
	errs := slices.Concat(
		positive("runtimeRequestTimeout", k.RuntimeRequestTimeout.Duration),
		between("maxPods", k.MaxPods, 0, 1<<20),
	)
	if k.ContainerRuntimeEndpoint != "" { // else the node brings its own
		errs = append(errs, endpoint("containerRuntimeEndpoint", k.ContainerRuntimeEndpoint)...)
	}
	if k.ImageServiceEndpoint != "" {
		errs = append(errs, endpoint("imageServiceEndpoint", k.ImageServiceEndpoint)...)
	}
	for i, server := range k.ClusterDNS {
		errs = append(errs, address(fmt.Sprintf("clusterDNS[%d]", i), server)...)
	}
	longest := k.CrashLoopBackOff.MaxContainerRestartPeriod.Duration
	if longest < time.Second || longest > 300*time.Second {
		path := field.NewPath("crashLoopBackOff", "maxContainerRestartPeriod")
		errs = append(errs, field.Invalid(path, longest.String(), "must be between 1s and 300s"))
	}
	return errs
}

// What containers may do with the machine's swap.
const (
	noSwap      = "NoSwap"
	limitedSwap = "LimitedSwap"
)

func validateCgroups(k *kubelet.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	if drivers := []string{"cgroupfs", "systemd"}; !slices.Contains(drivers, k.CgroupDriver) {
		errs = append(errs, field.NotSupported(field.NewPath("cgroupDriver"), k.CgroupDriver, drivers))
	}
	if period := k.CPUCFSQuotaPeriod.Duration; period < time.Millisecond || period > time.Second {
		errs = append(errs, field.Invalid(field.NewPath("cpuCFSQuotaPeriod"), period.String(), "must be between 1ms and 1s"))
	}
	if swaps := []string{noSwap, limitedSwap}; k.MemorySwap.SwapBehavior != "" && !slices.Contains(swaps, k.MemorySwap.SwapBehavior) {
		errs = append(errs, field.NotSupported(field.NewPath("memorySwap", "swapBehavior"), k.MemorySwap.SwapBehavior, swaps))
	}
	if *k.PodPidsLimit == 0 {
		errs = append(errs, field.Invalid(field.NewPath("podPidsLimit"), 0, "must be greater than 0, or -1 for no limit"))
	}
	return errs
}

func validateUsers(k *kubelet.KubeletConfiguration) field.ErrorList {
	if k.UserNamespaces == nil || k.UserNamespaces.IDsPerPod == nil {
		return nil
	}
	if n := *k.UserNamespaces.IDsPerPod; n <= 0 || n%users.Unit != 0 || n > math.MaxInt32 {
		return field.ErrorList{field.Invalid(field.NewPath("userNamespaces", "idsPerPod"), n, fmt.Sprintf("must be a multiple of %d, and less than %d", users.Unit, math.MaxInt32))}
	}
	return nil
}

var (
	// unsafeSysctl is the name of a sysctl, or the beginning of one and a star.
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

func validateLogs(k *kubelet.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	if !filepath.IsAbs(k.PodLogsDir) {
		errs = append(errs, field.Invalid(field.NewPath("podLogsDir"), k.PodLogsDir, "must be an absolute path"))
	}
	if _, err := resource.ParseQuantity(k.ContainerLogMaxSize); err != nil {
		errs = append(errs, field.Invalid(field.NewPath("containerLogMaxSize"), k.ContainerLogMaxSize, err.Error()))
	}
	if every := k.ContainerLogMonitorInterval.Duration; every < 3*time.Second {
		errs = append(errs, field.Invalid(field.NewPath("containerLogMonitorInterval"), every.String(), "must be at least 3s"))
	}
	errs = slices.Concat(errs,
		between("containerLogMaxFiles", *k.ContainerLogMaxFiles, 2, math.MaxInt32),
		between("containerLogMaxWorkers", *k.ContainerLogMaxWorkers, 1, math.MaxInt32),
	)
	if formats := []string{"json", "text"}; !slices.Contains(formats, k.Logging.Format) {
		errs = append(errs, field.NotSupported(field.NewPath("logging", "format"), k.Logging.Format, formats))
	}
	return errs
}

func validateGates(k *kubelet.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	for _, name := range slices.Sorted(maps.Keys(k.FeatureGates)) {
		if !knownGate(name) {
			errs = append(errs, field.Invalid(field.NewPath("featureGates").Key(name), k.FeatureGates[name], "unknown feature gate"))
		}
	}
	return errs
}

func between(name string, got, low, high int32) field.ErrorList {
	if got < low || got > high {
		return field.ErrorList{field.Invalid(field.NewPath(name), got, fmt.Sprintf("must be between %d and %d", low, high))}
	}
	return nil
}

func positive(name string, got time.Duration) field.ErrorList {
	if got <= 0 {
		return field.ErrorList{field.Invalid(field.NewPath(name), got.String(), "must be greater than 0")}
	}
	return nil
}

func address(name, got string) field.ErrorList {
	if _, err := netip.ParseAddr(got); err != nil {
		return field.ErrorList{field.Invalid(field.NewPath(name), got, "must be an IP address")}
	}
	return nil
}

// endpoint takes unix:///path, and the bare /path of older command lines.
func endpoint(name, got string) field.ErrorList {
	if !filepath.IsAbs(strings.TrimPrefix(got, "unix://")) {
		return field.ErrorList{field.Invalid(field.NewPath(name), got, "must be unix:// with an absolute path")}
	}
	return nil
}

func validNodeName(name string) error {
	if rules := validation.IsDNS1123Subdomain(name); len(rules) > 0 {
		return fmt.Errorf("check node name %q: %s", name, strings.Join(rules, "; "))
	}
	return nil
}

// nodeIPs parses one address, or one of each family joined by a comma.
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
	if len(ips) > 2 || len(ips) == 2 && ips[0].Is4() == ips[1].Is4() {
		return nil, errors.New("parse --node-ip: want one address, or one IPv4 and one IPv6")
	}
	return ips, nil
}
