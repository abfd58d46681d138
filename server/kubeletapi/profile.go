package kubeletapi

import (
	"net/http"
	"os"
	"runtime"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"nodal/server/wire"
)

// profile answers /debug/pprof/ with the list of profiles, and below it with each of them.
func (p *Process) profile(w http.ResponseWriter, r *http.Request) {
	if p.NoProfiles {
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
		profileHeader(w, name, detail)
		if err := found.WriteTo(w, detail); err != nil {
			p.Log.Debug("a profile was cut off", "profile", name, "err", err)
		}
	}
}

// profiles returns the names of the profiles, one on a line.
func profiles() string {
	text := "cmdline\nprofile\n"
	for _, one := range pprof.Profiles() {
		text += one.Name() + "\n"
	}
	return text
}

// profileCPU samples the process for some seconds, 30 by default.
func profileCPU(w http.ResponseWriter, r *http.Request) {
	seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
	if err != nil || seconds <= 0 {
		seconds = 30
	}
	profileHeader(w, "profile", 0)
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

// profileHeader announces text for people, or a file for programs.
func profileHeader(w http.ResponseWriter, name string, detail int) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if detail != 0 {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
}
