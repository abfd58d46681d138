package kubeletapi

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"mime"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"nodal/openapi"
	"nodal/server/wire"
)

// Process shows the process itself, and lets an admin look into it.
type Process struct {
	Version    string
	Started    time.Time
	Configz    func() []byte     // the body of /configz
	Flags      map[string]string // of the command line, without secrets
	Verbosity  Verbosity
	NoProfiles bool // enableProfilingHandler is off
	NoFlags    bool // enableDebugFlagsHandler is off
	Now        func() time.Time
	Log        *slog.Logger

	paths []string // of this package
}

// Verbosity sets how much is logged, counted as --v does.
type Verbosity interface {
	Set(level int32)
}

// configz answers /configz.
func (p *Process) configz(w http.ResponseWriter, _ *http.Request) { wire.WriteJSON(w, p.Configz()) }

// document answers /openapi.json, the description of every path.
func document(w http.ResponseWriter, _ *http.Request) {
	text, err := openapi.Document()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	wire.WriteJSON(w, text)
}

// setVerbosity answers PUT /debug/flags/v. The body is the new level of the log.
func (p *Process) setVerbosity(w http.ResponseWriter, r *http.Request) {
	if p.NoFlags {
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
	p.Verbosity.Set(int32(level))
	wire.WriteText(w, http.StatusOK, "successfully set klog.logging.verbosity to "+text)
}

const pageHead = `
kubelet %s
Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.
`

// page is the head of the objects that flagz and statusz answer to programs.
type page struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
}

// flagz answers /flagz: the command line, defaults included.
func (p *Process) flagz(w http.ResponseWriter, r *http.Request) {
	text := fmt.Sprintf(pageHead, "flagz") + "\n"
	for _, name := range slices.Sorted(maps.Keys(p.Flags)) {
		text += name + "=" + p.Flags[name] + "\n"
	}
	writePage(w, r, "Flagz", text, func(head page) any {
		return struct {
			page  `json:",inline"`
			Flags map[string]string `json:"flags"`
		}{head, p.Flags}
	})
}

// statusz answers /statusz: the version of the program, when it started, and its paths.
func (p *Process) statusz(w http.ResponseWriter, r *http.Request) {
	up := p.Now().Sub(p.Started).Truncate(time.Second)
	text := fmt.Sprintf(pageHead, "statusz") + fmt.Sprintf(`
Started: %s
Up: %d hr %02d min %02d sec
Go version: %s
Binary version: %s

Paths: %s
`, p.Started.UTC().Format(time.UnixDate), int(up.Hours()), int(up.Minutes())%60, int(up.Seconds())%60,
		runtime.Version(), p.Version, strings.Join(p.paths, " "))
	writePage(w, r, "Statusz", text, func(head page) any {
		return struct {
			page          `json:",inline"`
			StartTime     time.Time `json:"startTime"`
			UptimeSeconds int64     `json:"uptimeSeconds"`
			GoVersion     string    `json:"goVersion"`
			BinaryVersion string    `json:"binaryVersion"`
			Paths         []string  `json:"paths"`
		}{head, p.Started.UTC().Truncate(time.Second), int64(up.Seconds()), runtime.Version(), p.Version, p.paths}
	})
}

// writePage answers with text. A client gets an object if it accepts one, as in
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
		case media == "application/json" && parameters["g"] == "config.k8s.io" &&
			strings.EqualFold(parameters["as"], kind) && slices.Contains(pageVersions, version):
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
	wire.WriteText(w, http.StatusNotAcceptable,
		fmt.Sprintf("%s: not available; ask for text/plain or application/json;v=%s;g=config.k8s.io;as=%s",
			accepted, pageVersions[0], kind))
}

var pageVersions = []string{"v1alpha1", "v1beta1"}
