package config

import (
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/pflag"
	kubelet "k8s.io/kubelet/config/v1beta1"

	"nodal/node/seal"
)

// ErrHelp means that the command line asks for the usage instead of a node.
var ErrHelp = pflag.ErrHelp

// Load resolves the command line, without the program's name, and the files that it names to a Config.
func Load(args []string) (*Config, error) {
	var first Options
	if _, err := parse(&first, args); err != nil {
		return nil, err
	}
	if first.Version != "" {
		return nil, first.Version
	}
	files, sources, err := loadFiles(first.ConfigFile, first.ConfigDir)
	if err != nil {
		return nil, err
	}

	if first.Kubeconfig != "" {
		setMemberDefaults(&files)
	}

	// This time the flags have the files' values as their defaults.
	o := Options{Kubelet: files}
	anybody := files.Authentication.Anonymous.Enabled
	o.hints = hints{
		address: files.Address != "", driver: files.CgroupDriver != "", anybody: anybody != nil && *anybody,
	}
	fs, err := parse(&o, args)
	if err != nil {
		return nil, err
	}
	o.hints.address = o.hints.address || fs.Changed("address")
	o.hints.driver = o.hints.driver || fs.Changed("cgroup-driver")
	if o.fileLabels, err = readLabels(o.NodeLabelsFile); err != nil {
		return nil, err
	}
	c, err := settle(&o)
	if err != nil {
		return nil, err
	}
	c.given.args, c.given.sources = slices.Clone(args), sources
	c.given.note(fs)
	return c, nil
}

// hints tell of values whether they were given. A default that is not given may mean something else.
type hints struct {
	address, driver bool
	anybody         bool // a file lets callers in without credentials
}

// settle checks options and copies them into a Config.
func settle(o *Options) (*Config, error) {
	if err := validate(o); err != nil {
		return nil, err
	}
	c, err := resolve(o)
	if err != nil {
		return nil, err
	}
	c.Auth.OtherTokens = o.hints.anybody && c.Auth.Anonymous && !c.Auth.Tokens
	if o.hints.driver { // the default is for a runtime that does not report its own
		c.Runtime.CgroupDriver = c.Cgroups.Driver
	}
	return c, nil
}

// note keeps the command line, and which settings it gives.
func (g *given) note(fs *pflag.FlagSet) {
	g.commandLine = map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) { g.commandLine[f.Name] = f.Value.String() })
	fs.Visit(func(f *pflag.Flag) { g.sources["--"+f.Name] = "--" + f.Name })
	for field, s := range fieldSettings() {
		if s.flag != "" && fs.Changed(s.flag) {
			g.sources[field] = "--" + s.flag
		}
	}
	for _, f := range ignoredFlags {
		if fs.Changed(f.name) {
			g.ignoredFlags = append(g.ignoredFlags, f)
		}
	}
}

// parse parses the command line over the values in o.
func parse(o *Options, args []string) (*pflag.FlagSet, error) {
	fs := pflag.NewFlagSet("kubelet", pflag.ContinueOnError)
	fs.Usage = func() {} // the caller prints Usage on ErrHelp
	Flags(fs, o)
	if err := fs.Parse(args); err != nil {
		return nil, fmt.Errorf("parse command line: %w", err)
	}
	if fs.NArg() > 0 {
		return nil, fmt.Errorf("parse command line: unexpected argument %q", fs.Arg(0))
	}
	if help, _ := fs.GetBool("help"); help {
		return nil, ErrHelp
	}
	return fs, nil
}

// resolve copies checked options into a Config.
func resolve(o *Options) (*Config, error) {
	name, err := nodeName(o.HostnameOverride)
	if err != nil {
		return nil, err
	}
	ips, err := nodeIPs(o.NodeIP)
	if err != nil {
		return nil, err
	}
	dirs, err := resolveDirs(o)
	if err != nil {
		return nil, err
	}
	k := &o.Kubelet
	c := &Config{
		Node:     Node{Name: name, IPs: ips, Labels: o.labels(), Tunables: resolveTunables(o)},
		Runtime:  resolveRuntime(o, dirs),
		Dirs:     dirs,
		Cgroups:  resolveCgroups(o),
		Reserved: resolveReserved(k),
		Assign:   resolveAssign(k),
		Images:   resolveImages(o),
		Listen:   resolveListen(o),
		Sources:  resolveSources(k),
		Auth:     resolveAuth(k),
		Cluster:  resolveCluster(o, ips),
		Process:  resolveProcess(o),
		Shutdown: resolveShutdown(o),
	}
	if !o.PodsReachKubelet {
		c.Runtime.Closed = c.Listen.ports()
	}
	if c.Pods, err = resolvePods(o); err != nil {
		return nil, err
	}
	c.Pods.Ended = o.Ended
	if c.Policy, err = resolvePolicy(o.Policy); err != nil {
		return nil, err
	}
	if c.Audit, err = resolveAudit(o.Audit, c.Dirs); err != nil {
		return nil, err
	}
	if c.Secrets, err = seal.Parse(o.SecretsKey); err != nil {
		return nil, fmt.Errorf("--secrets-key: %q: %w", o.SecretsKey, err)
	}
	if c.CDI, err = resolveCDI(o); err != nil {
		return nil, err
	}
	c.Runtime.CDIDirs = c.CDI.Dirs
	if c.PodHistory, err = historySize("--pod-history-size", o.PodHistory); err != nil {
		return nil, err
	}
	if c.UsageHistory, err = historySize("--usage-history-size", o.UsageHistory); err != nil {
		return nil, err
	}
	if c.Runtime.PodCIDRs, err = podCIDRs(k.PodCIDR); err != nil {
		return nil, err
	}
	if c.Runtime.ServiceCIDR, c.Runtime.NoServices, err = serviceCIDR(o.ServiceCIDR, c.Runtime.PodCIDRs); err != nil {
		return nil, err
	}
	c.given = given{options: *o, flags: flagsOf(o, c)}
	return c, nil
}

// nodeName returns the override or the host's name, in lower case. It has the form of a DNS name, but DNS is not asked.
func nodeName(override string) (string, error) {
	name := override
	if name == "" {
		host, err := os.Hostname()
		if err != nil {
			return "", fmt.Errorf("find the host's name: %w", err)
		}
		name = host
	}
	name = strings.ToLower(strings.TrimSpace(name))
	if err := validNodeName(name); err != nil {
		return "", err
	}
	return name, nil
}

func resolveDirs(o *Options) (Dirs, error) {
	root, err := filepath.Abs(o.RootDir)
	if err != nil {
		return Dirs{}, fmt.Errorf("resolve --root-dir: %w", err)
	}
	cert := filepath.Join(root, "pki")
	if o.CertDir != "" {
		if cert, err = filepath.Abs(o.CertDir); err != nil {
			return Dirs{}, fmt.Errorf("resolve --cert-dir: %w", err)
		}
	}
	return Dirs{
		Root: root, Cert: cert, PodLogs: filepath.Clean(o.Kubelet.PodLogsDir), RuntimeLink: runtimeLink(o.Socket),
	}, nil
}

func resolveRuntime(o *Options, dirs Dirs) Runtime {
	k := &o.Kubelet
	r := Runtime{
		Endpoint:       k.ContainerRuntimeEndpoint,
		SandboxImage:   o.SandboxImage,
		StopOnExit:     o.StopRuntime,
		ImportLimit:    importLimit(o.ImportLimit),
		ImageEndpoint:  k.ImageServiceEndpoint,
		RequestTimeout: k.RuntimeRequestTimeout.Duration,
	}
	if dirs.leadsToOwnRuntime(r.Endpoint) {
		r.Endpoint = ""
	}
	if r.ImageEndpoint == "" || dirs.leadsToOwnRuntime(r.ImageEndpoint) {
		r.ImageEndpoint = r.Endpoint
	}
	return r
}

// ports returns the ports that are open, but for that of health, which tells nothing.
func (l Listen) ports() (open []uint16) {
	for _, port := range []int{l.Port, l.ReadOnlyPort} {
		if port != 0 {
			open = append(open, uint16(port))
		}
	}
	return open
}

// serviceCIDR parses the subnet of services, which is none of the pods'.
func serviceCIDR(text string, pods []netip.Prefix) (subnet netip.Prefix, none bool, err error) {
	if text == "" || text == "none" {
		return subnet, text != "", nil
	}
	if subnet, err = netip.ParsePrefix(text); err != nil {
		return subnet, false, fmt.Errorf("parse --service-cidr: %w", err)
	}
	const least, most = 26, 12 // bits
	subnet = subnet.Masked()
	switch {
	case !subnet.Addr().Is4() || subnet.Bits() > least || subnet.Bits() < most:
		return subnet, false, fmt.Errorf("--service-cidr %s: want a subnet of IPv4, of /%d to /%d", text, most, least)
	case slices.ContainsFunc(pods, subnet.Overlaps):
		return subnet, false, fmt.Errorf("--service-cidr %s: overlaps podCIDR; pods and services have addresses of their own", text)
	}
	return subnet, false, nil
}

// podCIDRs parses one subnet, or one of each family joined by a comma.
func podCIDRs(text string) (subnets []netip.Prefix, err error) {
	if text == "" {
		return nil, nil
	}
	for word := range strings.SplitSeq(text, ",") {
		subnet, err := netip.ParsePrefix(strings.TrimSpace(word))
		if err != nil {
			return nil, fmt.Errorf("parse podCIDR: %w", err)
		}
		if subnet.Bits() > subnet.Addr().BitLen()-2 {
			return nil, fmt.Errorf("podCIDR %s: too small for pods", subnet)
		}
		if slices.ContainsFunc(subnets, func(p netip.Prefix) bool { return p.Addr().Is6() == subnet.Addr().Is6() }) {
			return nil, fmt.Errorf("podCIDR %s: want one subnet, or one IPv4 and one IPv6 subnet", text)
		}
		subnets = append(subnets, subnet.Masked())
	}
	return subnets, nil
}

func resolveCgroups(o *Options) Cgroups {
	k := &o.Kubelet
	return Cgroups{
		Kubelet: k.KubeletCgroups, System: k.SystemCgroups, Runtime: o.RuntimeCgroups,
		PerPod: *k.CgroupsPerQOS, Root: k.CgroupRoot, Driver: k.CgroupDriver,
		CPUQuota: *k.CPUCFSQuota, CPUQuotaPeriod: k.CPUCFSQuotaPeriod.Duration,
		PodPids: max(*k.PodPidsLimit, 0), OOMSingle: k.SingleProcessOOMKill,
		FailOnV1: *k.FailCgroupV1, FailOnSwap: *k.FailSwapOn, LimitedSwap: k.MemorySwap.SwapBehavior == limitedSwap,
		Reserve:  reservedPercent(k),
		OwnQuota: !gateOn(k, disableQuota), MemoryQoS: gateOn(k, memoryQoS),
		KeepMemory: k.MemoryReservationPolicy == kubelet.TieredReservationMemoryReservationPolicy, Throttle: throttle(k),
	}
}

func resolveListen(o *Options) Listen {
	k := &o.Kubelet
	if k.RunOnce {
		return Listen{} // a run that starts pods once serves nothing
	}
	l := Listen{
		Socket:            o.Socket,
		Address:           k.Address,
		Port:              int(k.Port),
		ReadOnlyAddress:   k.Address,
		ReadOnlyPort:      int(k.ReadOnlyPort),
		HealthzAddress:    k.HealthzBindAddress,
		HealthzPort:       int(*k.HealthzPort),
		DebuggingHandlers: *k.EnableDebuggingHandlers,
		Profiles:          *k.EnableProfilingHandler,
		DebugFlags:        *k.EnableDebugFlagsHandler,
		SystemLogs:        *k.EnableSystemLogHandler,
		SystemLogQuery:    k.EnableSystemLogQuery != nil && *k.EnableSystemLogQuery,
		StreamIdle:        k.StreamingConnectionIdleTimeout.Duration,
		NodesFile:         o.NodesFile,
	}
	if !*k.EnableServer {
		l.Port = 0
	}
	// This port asks for no credentials, so it is open to the network only when an address was given.
	if !o.hints.address {
		l.ReadOnlyAddress = "127.0.0.1"
	}
	return l
}

func resolveSources(k *kubelet.KubeletConfiguration) Sources {
	return Sources{
		Once:          k.RunOnce,
		StaticPodPath: k.StaticPodPath,
		FileCheck:     k.FileCheckFrequency.Duration,
		URL:           k.StaticPodURL,
		URLHeader:     k.StaticPodURLHeader,
		HTTPCheck:     k.HTTPCheckFrequency.Duration,
	}
}

func resolveAuth(k *kubelet.KubeletConfiguration) Auth {
	a := Auth{
		Anonymous:    *k.Authentication.Anonymous.Enabled,
		ClientCAFile: k.Authentication.X509.ClientCAFile,
		Mode:         AuthRoles,
		TLSCertFile:  k.TLSCertFile,
		TLSKeyFile:   k.TLSPrivateKeyFile,
		TLS:          resolveTLS(k),
		Tokens:       *k.Authentication.Webhook.Enabled,
		TokenTTL:     k.Authentication.Webhook.CacheTTL.Duration,
		AllowedTTL:   k.Authorization.Webhook.CacheAuthorizedTTL.Duration,
		DeniedTTL:    k.Authorization.Webhook.CacheUnauthorizedTTL.Duration,
		Serving:      k.ServerTLSBootstrap,
	}
	switch k.Authorization.Mode {
	case kubelet.KubeletAuthorizationModeAlwaysAllow:
		a.Mode = AuthAlwaysAllow
	case kubelet.KubeletAuthorizationModeWebhook:
		a.Mode = AuthWebhook
	}
	return a
}
