package agent

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nodal/agent/config"
	"nodal/agent/offering"
	"nodal/agent/reload"
	"nodal/node"
	"nodal/node/admit"
	"nodal/node/health"
	"nodal/node/offer"
	"nodal/server"
	"nodal/server/auth"
)

// heeding notes what parts are told.
type heeding struct {
	rules []health.Rule
	hold  time.Duration
	pace  string
	level int32
	files auth.Files
}

func (p *heeding) SetRules(rules []health.Rule, hold time.Duration) { p.rules, p.hold = rules, hold }
func (p *heeding) SetPace(perSecond float64, burst int)             { p.pace = fmt.Sprint(perSecond, burst) }
func (p *heeding) Set(level int32)                                  { p.level = level }
func (p *heeding) Exchange(f auth.Files) (func(), error)            { return func() { p.files = f }, nil }

// following is a keeper with parts that follow it.
type following struct {
	*heeding
	*reload.Keeper
	offers offer.Board
}

const configHeader = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"

func follow(t *testing.T, args ...string) *following {
	t.Helper()
	start, err := config.Load(args)
	if err != nil {
		t.Fatal(err)
	}
	f := &following{heeding: &heeding{}}
	if f.Keeper, err = reload.New(reload.Config{
		Start: start, Report: func(node.Event) {}, Failed: func(bool) {}, Clock: time.Now, Log: slog.New(slog.DiscardHandler),
		Show: func(c *config.Config) (server.Configured, error) { return shownConfig(c, nil) },
	}); err != nil {
		t.Fatal(err)
	}
	machine := offering.Facts{Machine: admit.Machine{CPUs: 4, Memory: 8 << 30, Disk: 100 << 30}}
	owner := &offering.Owner{Look: func() (offering.Facts, error) { return machine, nil }, Board: &f.offers, Log: slog.New(slog.DiscardHandler)}
	setTerms(&owner.Terms, start)
	if err := owner.Begin(); err != nil {
		t.Fatal(err)
	}
	f.Join(taking{
		offers: owner, users: func(int, uint32) error { return nil }, vitals: f.heeding, pulls: f.heeding, level: f.heeding, guard: f.heeding,
		made: func() (*auth.Material, error) { return &auth.Material{CertFile: "own.crt", KeyFile: "own.key"}, nil },
	}.takers()...)
	return f
}

func TestEverySettingThatIsTakenReachesItsPart(t *testing.T) {
	dir := t.TempDir()
	file, labels := filepath.Join(dir, "kubelet.yaml"), filepath.Join(dir, "labels")
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	pods := func(f *following) any { o := f.offers.Read(); return o.Allocatable.Pods().Value() }
	rules := func(f *following) any { return f.rules }
	policy := func(f *following) any { return fmt.Sprintf("%+v", imagePolicy(f.Running)()) }
	logs := func(f *following) any { l := logLimits(f.Running)(); return fmt.Sprint(l.MaxSize, " ", l.MaxFiles) }
	cases := map[string]struct {
		fields string
		got    func(*following) any
		want   string // printed
	}{
		"logging.verbosity":                {"logging: {verbosity: 4}", func(f *following) any { return f.level }, "4"},
		"maxPods":                          {"maxPods: 3", pods, "3"},
		"podsPerCore":                      {"podsPerCore: 2", pods, "8"},
		"allowedUnsafeSysctls":             {"allowedUnsafeSysctls: ['net.*']", func(f *following) any { return f.offers.Read().UnsafeSysctls }, "[net.*]"},
		"evictionHard":                     {"evictionHard: {pid.available: 1k}", rules, "pid.available"},
		"evictionSoft":                     {"evictionSoft: {pid.available: 2k}\nevictionSoftGracePeriod: {pid.available: 1m}", rules, "1m0s"},
		"evictionSoftGracePeriod":          {"evictionSoft: {pid.available: 2k}\nevictionSoftGracePeriod: {pid.available: 2m}", rules, "2m0s"},
		"evictionMinimumReclaim":           {"evictionMinimumReclaim: {nodefs.available: 7%}", rules, "Percent:7"},
		"mergeDefaultEvictionSettings":     {"mergeDefaultEvictionSettings: true\nevictionHard: {pid.available: 1k}", rules, "nodefs.available"},
		"evictionPressureTransitionPeriod": {"evictionPressureTransitionPeriod: 7s", func(f *following) any { return f.hold }, "7s"},
		"evictionMaxPodGracePeriod": {"evictionMaxPodGracePeriod: 9", func(f *following) any {
			return maxGrace(f.Running)()
		}, "9s"},
		"imageGCHighThresholdPercent":    {"imageGCHighThresholdPercent: 91", policy, "High:91"},
		"imageGCLowThresholdPercent":     {"imageGCLowThresholdPercent: 71", policy, "Low:71"},
		"imageMinimumGCAge":              {"imageMinimumGCAge: 3m", policy, "MinAge:3m0s"},
		"imageMaximumGCAge":              {"imageMaximumGCAge: 3h", policy, "MaxAge:3h0m0s"},
		"registryPullQPS":                {"registryPullQPS: 3", func(f *following) any { return f.pace }, "3 10"},
		"registryBurst":                  {"registryBurst: 4", func(f *following) any { return f.pace }, "5 4"},
		"containerLogMaxSize":            {"containerLogMaxSize: 1Mi", logs, "1048576 5"},
		"containerLogMaxFiles":           {"containerLogMaxFiles: 3", logs, "10485760 3"},
		"streamingConnectionIdleTimeout": {"streamingConnectionIdleTimeout: 1m", func(f *following) any { return streamIdle(f.Running)() }, "1m0s"},
		"tlsCertFile":                    {"tlsCertFile: /a.crt\ntlsPrivateKeyFile: /a.key", func(f *following) any { return f.files.CertFile }, "/a.crt"},
		"tlsPrivateKeyFile":              {"tlsCertFile: /a.crt\ntlsPrivateKeyFile: /a.key", func(f *following) any { return f.files.KeyFile }, "/a.key"},
		"authentication.x509.clientCAFile": {
			"authentication: {x509: {clientCAFile: /ca}}", func(f *following) any { return f.files }, "{CertFile:own.crt KeyFile:own.key ClientCAFile:/ca}",
		},
		"--node-labels-file": {"", func(f *following) any { return f.offers.Read().Labels["rack"] }, "r2"},
	}
	write(file, configHeader)
	write(labels, "rack=r1\n")
	start := follow(t, "--config", file, "--node-labels-file", labels)
	all, err := start.Running().Told()
	if err != nil {
		t.Fatal(err)
	}
	for _, setting := range all {
		c, found := cases[setting.Name]
		if found != (setting.TakenBy != "") {
			t.Errorf("%s is taken by %q, and has a case here: %v", setting.Name, setting.TakenBy, found)
		}
		if !found {
			continue
		}
		write(file, configHeader)
		write(labels, "rack=r1\n")
		f := follow(t, "--config", file, "--node-labels-file", labels)
		if before := fmt.Sprintf("%+v", c.got(f)); strings.Contains(before, c.want) {
			t.Errorf("%s: %q is there before: %s", setting.Name, c.want, before)
		}
		write(file, configHeader+c.fields+"\n")
		if setting.Name == "--node-labels-file" {
			write(labels, "rack=r2\n")
		}
		f.Reload(false)
		if got := fmt.Sprintf("%+v", c.got(f)); !strings.Contains(got, c.want) {
			t.Errorf("%s: the part has %s, want %q in it (%s)", setting.Name, got, c.want, f.Read().Fault)
		}
		if !slices.Contains(f.Read().Taken, setting.Name) {
			t.Errorf("%s: taken are %q", setting.Name, f.Read().Taken)
		}
	}
}

// What a caller of the API has set meanwhile stays, unless the file says something else than before.
func TestPartsAreToldOnlyWhatHasChanged(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubelet.yaml")
	write := func(fields string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(configHeader+fields+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("logging: {verbosity: 2}")
	f := follow(t, "--config", file)
	f.level = 9 // by the API
	revision := f.offers.Read().Revision
	write("logging: {verbosity: 2}\nregistryPullQPS: 3")
	f.Reload(false)
	if f.level != 9 || f.pace != "3 10" || f.rules != nil || f.files != (auth.Files{}) || f.offers.Read().Revision != revision {
		t.Errorf("got %+v and offer %d, want another pace alone", f.heeding, f.offers.Read().Revision)
	}
	write("logging: {verbosity: 3}\nregistryPullQPS: 3")
	if f.Reload(false); f.level != 3 {
		t.Errorf("the level is %d, want 3 of the file", f.level)
	}
}

func TestAnOfferThatTheMachineCannotKeepIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "kubelet.yaml")
	write := func(fields string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(configHeader+fields+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("maxPods: 5")
	f := follow(t, "--config", file)
	write("maxPods: 6\nevictionHard: {memory.available: 100Gi}")
	f.Reload(false)
	if o := f.offers.Read(); f.Read().Fault == "" || o.Allocatable.Pods().Value() != 5 || f.rules != nil {
		t.Errorf("the fault is %q, %v pods, the rules %v; want a fault, and all as it was", f.Read().Fault, o.Allocatable.Pods(), f.rules)
	}
}
