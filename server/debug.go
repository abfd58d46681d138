package server

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/server/wire"
)

// Debug holds the parts of the process that an admin may see and change.
type Debug struct {
	Flags      map[string]string // of the command line, without secrets
	Verbosity  Verbosity
	NoProfiles bool // enableProfilingHandler is off
	NoFlags    bool // enableDebugFlagsHandler is off
}

// Verbosity sets how much is logged, counted as --v does.
type Verbosity interface {
	Level() int32
	Set(level int32)
}

// profile is /debug/pprof/: the list of profiles, and each as the runtime tells it.
func (k *kubelet) profile(w http.ResponseWriter, r *http.Request) {
	if k.debug.NoProfiles {
		http.Error(w, "profiling endpoint is disabled.", http.StatusMethodNotAllowed)
		return
	}
	detail, _ := strconv.Atoi(r.URL.Query().Get("debug"))
	switch name := chi.URLParam(r, "profile"); name {
	case "":
		wire.WriteText(w, http.StatusOK, profiles())
	case "cmdline":
		wire.WriteText(w, http.StatusOK, strings.Join(os.Args, "\x00"))
	case "profile":
		profileCPU(w, r)
	default:
		found := pprof.Lookup(name)
		if found == nil {
			http.Error(w, "Unknown profile", http.StatusNotFound)
			return
		}
		if name == "heap" && r.URL.Query().Get("gc") == "1" {
			runtime.GC()
		}
		asProfile(w, name, detail)
		if err := found.WriteTo(w, detail); err != nil {
			k.log.Debug("a profile was cut off", "profile", name, "err", err)
		}
	}
}

// profiles are the names of what there is to read, one on a line.
func profiles() string {
	text := "cmdline\nprofile\n"
	for _, p := range pprof.Profiles() {
		text += p.Name() + "\n"
	}
	return text
}

// profileCPU samples where the process spends the next seconds, 30 by default.
func profileCPU(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
	if err != nil || seconds <= 0 {
		seconds = 30
	}
	asProfile(w, "profile", 0)
	if err := pprof.StartCPUProfile(w); err != nil {
		w.Header().Del("Content-Disposition")
		wire.WriteText(w, http.StatusInternalServerError, "cannot profile: "+err.Error())
		return
	}
	defer pprof.StopCPUProfile()
	select {
	case <-time.After(time.Duration(seconds) * time.Second):
	case <-r.Context().Done():
	}
}

// asProfile says what follows: text for people, or a file for programs.
func asProfile(w http.ResponseWriter, name string, detail int) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if detail != 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}

// verbosity is PUT /debug/flags/v: the body is the level from now on.
func (k *kubelet) verbosity(w http.ResponseWriter, r *http.Request) {
	if k.debug.NoFlags {
		http.Error(w, "flags endpoint is disabled.", http.StatusMethodNotAllowed)
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		wire.WriteText(w, http.StatusBadRequest, "error reading request body: "+err.Error())
		return
	}
	text := strings.TrimSpace(string(body))
	level, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		wire.WriteText(w, http.StatusBadRequest, fmt.Sprintf("failed set klog.logging.verbosity %s: %v", text, err))
		return
	}
	k.debug.Verbosity.Set(int32(level))
	wire.WriteText(w, http.StatusOK, "successfully set klog.logging.verbosity to "+text)
}

const pageHead = `
kubelet %s
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.
`

// page is the head of what flagz and statusz tell to programs.
type page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// flagz is /flagz: the command line, defaults included.
func (k *kubelet) flagz(w http.ResponseWriter, r *http.Request) {
	text := fmt.Sprintf(pageHead, "flagz") + "\n"
	for _, name := range slices.Sorted(maps.Keys(k.debug.Flags)) {
		text += name + "=" + k.debug.Flags[name] + "\n"
	}
	writePage(w, r, "Flagz", text, func(p page) any {
		return struct {
			page  `json:",inline"`
			Flags map[string]string `json:"flags"`
		}{p, k.debug.Flags}
	})
}

// statusz is /statusz: which program this is, since when it runs, and what it serves.
func (k *kubelet) statusz(w http.ResponseWriter, r *http.Request) {
	up := k.now().Sub(k.facts.Started).Truncate(time.Second)
	text := fmt.Sprintf(pageHead, "statusz") + fmt.Sprintf(`
Started: %s
Up: %d hr %02d min %02d sec
Go version: %s
Binary version: %s

Paths: %s
`, k.facts.Started.UTC().Format(time.UnixDate), int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60,
		runtime.Version(), k.facts.Version, strings.Join(k.paths, " "))
	writePage(w, r, "Statusz", text, func(p page) any {
		return struct {
			page          `json:",inline"`
			StartTime     time.Time `json:"startTime"`
			UptimeSeconds int64     `json:"uptimeSeconds"`
			GoVersion     string    `json:"goVersion"`
			BinaryVersion string    `json:"binaryVersion"`
			Paths         []string  `json:"paths"`
		}{p, k.facts.Started.UTC().Truncate(time.Second), int64(up.Seconds()), runtime.Version(), k.facts.Version, k.paths}
	})
}

// writePage answers with text, or with an object if the client asks for one of its kind, as in
// "application/json;v=v1alpha1;g=config.k8s.io;as=Statusz".
func writePage(w http.ResponseWriter, r *http.Request, kind, text string, object func(page) any) {
	accepted := r.Header.Get("Accept")
	for wanted := range strings.SplitSeq(accepted, ",") {
		media, parameters, err := mime.ParseMediaType(wanted)
		version := parameters["v"]
		switch {
		case err != nil:
		case media == "text/plain", media == "text/*", media == "*/*":
			wire.WriteText(w, http.StatusOK, text)
			return
		case media == "application/json" && parameters["g"] == "config.k8s.io" && strings.EqualFold(parameters["as"], kind) && slices.Contains(pageVersions, version):
			body, err := json.Marshal(object(page{
				metav1.TypeMeta{Kind: kind, APIVersion: "config.k8s.io/" + version}, metav1.ObjectMeta{Name: "kubelet"},
			}))
			if err != nil {
				wire.WriteText(w, http.StatusInternalServerError, err.Error())
				return
			}
			wire.WriteJSON(w, body)
			return
		}
	}
	if accepted == "" {
		wire.WriteText(w, http.StatusOK, text)
		return
	}
	wire.WriteText(w, http.StatusNotAcceptable, fmt.Sprintf("%s: text/plain is to be had, or application/json;v=%s;g=config.k8s.io;as=%s", accepted, pageVersions[0], kind))
}

var pageVersions = []string{"v1alpha1", "v1beta1"}

// pathsOf are the first words of the kubelet's own paths.
func pathsOf(table []route) []string {
	var paths []string
	for _, rt := range table {
		path, _, _ := strings.Cut(rt.pattern, "{")
		if path = strings.TrimSuffix(path, "/"); !strings.HasPrefix(path, "/v1/") {
			paths = append(paths, path)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(paths)))
}
