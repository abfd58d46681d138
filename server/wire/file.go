package wire

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
)

// File is a file for a browser.
type File struct {
	Code     int // 200, unless it is set
	Type     string
	Encoding string
	Policy   string // Content-Security-Policy
	Cache    string // Cache-Control
	Body     []byte
}

// ReadsOnly refuses requests that do more than read.
func ReadsOnly(w http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return true
	}
	w.Header().Set("Allow", "GET")
	WriteText(w, http.StatusMethodNotAllowed, "405: Method Not Allowed")
	return false
}

// WriteFile sends a file. Other sites can neither show nor read it, and a browser that has it gets no second copy.
func WriteFile(w http.ResponseWriter, r *http.Request, f File) {
	header := w.Header()
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Content-Security-Policy", f.Policy)
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cross-Origin-Opener-Policy", "same-origin")
	header.Set("Cross-Origin-Resource-Policy", "same-origin")
	header.Set("Content-Type", f.Type)
	header.Add("Vary", "Accept-Encoding")
	if f.Cache != "" {
		header.Set("Cache-Control", f.Cache)
	}
	if f.Encoding != "" {
		header.Set("Content-Encoding", f.Encoding)
	}
	sum := sha256.Sum256(f.Body)
	tag := `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
	header.Set("ETag", tag)
	if r.Header.Get("If-None-Match") == tag && f.Code == 0 {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	w.WriteHeader(cmp.Or(f.Code, http.StatusOK))
	if r.Method == http.MethodGet {
		_, _ = w.Write(f.Body) // a client that is gone gets no error
	}
}
