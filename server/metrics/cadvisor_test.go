package metrics

import (
	"bytes"
	"io"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/cadvisor/lib/container"
	cadvisor "github.com/google/cadvisor/lib/metrics"
	"github.com/google/cadvisor/lib/model"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	common "github.com/prometheus/common/model"
	clock "k8s.io/utils/clock/testing"
)

// scripted is the source that cAdvisor's own collector reads from.
type scripted []*model.ContainerInfo

var (
	theMachine = &model.MachineInfo{NumCores: 4, NumPhysicalCores: 2, NumSockets: 1, MemoryCapacity: 1 << 30, SwapCapacity: 1 << 20, MachineID: "m", BootID: "b", SystemUUID: "s"}
	theVersion = &model.VersionInfo{KernelVersion: "6.1", ContainerOsVersion: "Debian", CadvisorVersion: "v1"}
	someTime   = time.UnixMilli(1_700_000_000_125)
)

func (s scripted) GetRequestedContainersInfo(string, model.RequestOptions) (map[string]*model.ContainerInfo, error) {
	all := map[string]*model.ContainerInfo{}
	for _, c := range s {
		all[c.Name] = c
	}
	return all, nil
}

func (s scripted) GetVersionInfo() (*model.VersionInfo, error) { return theVersion, nil }
func (s scripted) GetMachineInfo() (*model.MachineInfo, error) { return theMachine, nil }

// someCgroups have every figure there is, and one of them few.
func someCgroups() scripted {
	psi := model.PSIStats{Full: model.PSIData{Total: 1500}, Some: model.PSIData{Total: 2500}}
	disk := func(read, write uint64) []model.PerDiskStats {
		return []model.PerDiskStats{{Device: "/dev/sda", Major: 8, Stats: map[string]uint64{"Read": read, "Write": write}}}
	}
	return scripted{
		{
			ContainerReference: model.ContainerReference{Name: "/kubepods/pod1/c1", Aliases: []string{"c1"}},
			Spec: model.ContainerSpec{
				CreationTime: someTime, StartTime: someTime.Add(time.Second), HasCpu: true, HasMemory: true, HasProcesses: true, Image: `app"1`,
				Cpu: model.CpuSpec{Limit: 512, Quota: 50000, Period: 100000}, Memory: model.MemorySpec{Limit: 1 << 20, SwapLimit: math.MaxUint64, Reservation: 9},
				Labels: map[string]string{"io.kubernetes.pod.name": "web", "io.kubernetes.pod.namespace": "default", "io.kubernetes.container.name": "main"},
			},
			Stats: []*model.ContainerStats{{
				Timestamp: someTime, OOMEvents: 3,
				Cpu: &model.CpuStats{Usage: model.CpuUsage{Total: 3e9, User: 2e9, System: 1e9}, CFS: model.CpuCFS{Periods: 5, ThrottledPeriods: 4, ThrottledTime: 3e8, BurstsPeriods: 2, BurstTime: 1e8}, PSI: psi},
				Memory: &model.MemoryStats{
					Usage: 1, MaxUsage: 2, Cache: 3, RSS: 4, Swap: 5, MappedFile: 6, WorkingSet: 7, TotalActiveFile: 8, TotalInactiveFile: 9, FileDirty: 10,
					FileWriteback: 11, Pgscan: 12, Pgsteal: 13, WorkingsetRefaultFile: 14, WorkingsetRefaultAnon: 15, Failcnt: 16, KernelUsage: 17, PSI: psi,
					Events: model.MemoryEvents{High: 18, Max: 19}, ContainerData: model.MemoryStatsMemoryData{Pgfault: 20, Pgmajfault: 21},
					HierarchicalData: model.MemoryStatsMemoryData{Pgfault: 22, Pgmajfault: 23},
				},
				DiskIo:     &model.DiskIoStats{IoServiceBytes: disk(30, 31), IoServiced: disk(32, 33), PSI: psi},
				Network:    &model.NetworkStats{Interfaces: []model.InterfaceStats{{Name: "eth0", RxBytes: 40, RxPackets: 41, RxErrors: 42, RxDropped: 43, TxBytes: 44, TxPackets: 45, TxErrors: 46, TxDropped: 47}}},
				Processes:  &model.ProcessStats{ProcessCount: 50, FdCount: 51, SocketCount: 52, ThreadsCurrent: 53, ThreadsMax: 54, Ulimits: []model.UlimitSpec{{Name: "max_open_files", SoftLimit: 55}}},
				Filesystem: []model.FsStats{},
			}},
		},
		{ContainerReference: model.ContainerReference{Name: "/"}, Spec: model.ContainerSpec{CreationTime: someTime, HasMemory: true}, Stats: []*model.ContainerStats{{Timestamp: someTime}}},
	}
}

// counted returns the kinds of figures that upstream's kubelet has cAdvisor count.
func counted() container.MetricSet {
	return container.MetricSet{
		container.CpuUsageMetrics: {}, container.MemoryUsageMetrics: {}, container.DiskIOMetrics: {}, container.NetworkUsageMetrics: {},
		container.ProcessMetrics: {}, container.OOMMetrics: {}, container.PressureMetrics: {}, container.DiskUsageMetrics: {},
	}
}

func parse(t *testing.T, text []byte) map[string]*dto.MetricFamily {
	t.Helper()
	parser := expfmt.NewTextParser(common.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func TestCadvisorsFamiliesAreCadvisorsOwn(t *testing.T) {
	cgroups := someCgroups()
	registry := prometheus.NewRegistry()
	registry.MustRegister(
		cadvisor.NewPrometheusCollector(cgroups, kubeletLabels, counted(), clock.NewFakeClock(someTime), model.RequestOptions{}),
		cadvisor.NewPrometheusMachineCollector(cgroups, counted()))
	theirs, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	ours := parse(t, cadvisorText(t, cgroups))
	for _, want := range theirs {
		got := ours[want.GetName()]
		delete(ours, want.GetName())
		if got == nil {
			if !absent(t, want.GetName()) {
				t.Errorf("%s is missing", want.GetName())
			}
			continue
		}
		if got.GetHelp() != want.GetHelp() || got.GetType() != want.GetType() {
			t.Errorf("%s: got %q, %s; want %q, %s", want.GetName(), got.GetHelp(), got.GetType(), want.GetHelp(), want.GetType())
		}
		if a, b := samples(got), samples(want); a != b {
			t.Errorf("%s: got\n%swant\n%s", want.GetName(), a, b)
		}
	}
	for name := range ours {
		t.Errorf("%s is not cAdvisor's", name)
	}
}

// absent lists the families that are not counted here. docs/METRICS.md has the reasons.
func absent(t *testing.T, name string) bool {
	t.Helper()
	word := readPage(t).rows["/metrics/cadvisor"][name]
	return word != "" && word != "served"
}

func kubeletLabels(c *model.ContainerInfo) map[string]string {
	name := ""
	if len(c.Aliases) > 0 {
		name = c.Aliases[0]
	}
	return map[string]string{
		"id": c.Name, "name": name, "image": c.Spec.Image, "pod": c.Spec.Labels["io.kubernetes.pod.name"],
		"namespace": c.Spec.Labels["io.kubernetes.pod.namespace"], "container": c.Spec.Labels["io.kubernetes.container.name"],
	}
}

// samples returns the sorted lines of a family, labels sorted too.
func samples(f *dto.MetricFamily) string {
	for _, m := range f.Metric {
		slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	}
	slices.SortFunc(f.Metric, func(a, b *dto.Metric) int { return strings.Compare(labelText(a), labelText(b)) })
	var text bytes.Buffer
	_, _ = expfmt.MetricFamilyToText(&text, f) // into memory
	return text.String()
}

func labelText(m *dto.Metric) string {
	var b strings.Builder
	for _, l := range m.Label {
		b.WriteString(l.GetName() + "=" + l.GetValue() + ",")
	}
	return b.String()
}

func cadvisorText(t testing.TB, cgroups []*model.ContainerInfo) []byte {
	t.Helper()
	var text bytes.Buffer
	if err := Cadvisor(&text, cgroups, theMachine, theVersion, true); err != nil {
		t.Fatal(err)
	}
	return text.Bytes()
}

func TestMissingCountsAreNotZero(t *testing.T) {
	node := &model.ContainerInfo{ContainerReference: model.ContainerReference{Name: "/"}, Stats: []*model.ContainerStats{{
		Timestamp: someTime, Cpu: &model.CpuStats{Usage: model.CpuUsage{Total: 3e9}}, Memory: &model.MemoryStats{Usage: 3, WorkingSet: 2, RSS: 1},
	}}}
	found := parse(t, cadvisorText(t, []*model.ContainerInfo{node}))
	for name, family := range found {
		switch name {
		case "container_cpu_usage_seconds_total", "container_memory_usage_bytes", "container_memory_working_set_bytes", "container_memory_rss",
			"container_memory_swap", "container_last_seen", "container_creation_time_seconds", "container_start_time_seconds", "container_scrape_error":
			delete(found, name)
		default:
			if strings.HasPrefix(name, "container_") {
				t.Errorf("%s is %v", name, family.GetMetric())
			}
		}
	}
}

func BenchmarkCadvisor(b *testing.B) {
	one := someCgroups()[0]
	one.Name = "/kubepods/burstable/pod8f14e45f-ceea-467f-a8f9-1c51ce2a2eb6/" + strings.Repeat("8f14e45fceea467f", 4)
	var all []*model.ContainerInfo
	for range 300 {
		all = append(all, one)
	}
	b.SetBytes(int64(len(cadvisorText(b, all))))
	b.ReportAllocs()
	for b.Loop() {
		_ = Cadvisor(io.Discard, all, theMachine, theVersion, true)
	}
}
