package config

import (
	"crypto/tls"
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	kubelet "k8s.io/kubelet/config/v1beta1"
)

// TLS holds which versions and algorithms the node accepts where it serves TLS.
type TLS struct {
	MinVersion   uint16
	CipherSuites []uint16      // of TLS 1.2
	Curves       []tls.CurveID // empty selects Go's own
}

// tlsVersions are the names of upstream. Older versions than 1.2 have no name here: the node does not speak them.
var tlsVersions = map[string]uint16{"VersionTLS12": tls.VersionTLS12, "VersionTLS13": tls.VersionTLS13}

// sealed are the suites of TLS 1.2 that encrypt and authenticate in one (AEAD), and have forward secrecy.
var sealed = []uint16{
	tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
	tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
	tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256,
	tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
}

var tlsCurves = []tls.CurveID{tls.CurveP256, tls.CurveP384, tls.CurveP521, tls.X25519, tls.X25519MLKEM768}

// tlsSuites returns every suite by its name; weak ones are the owner's to choose. Two have the older names that upstream
// takes too, without the hash.
func tlsSuites() map[string]*tls.CipherSuite {
	all := map[string]*tls.CipherSuite{}
	for _, s := range slices.Concat(tls.CipherSuites(), tls.InsecureCipherSuites()) {
		all[s.Name] = s
		if older, found := strings.CutSuffix(s.Name, "_CHACHA20_POLY1305_SHA256"); found && !is13(s) {
			all[older+"_CHACHA20_POLY1305"] = s
		}
	}
	return all
}

// is13 reports whether a suite is one of TLS 1.3, which Go does not let its callers choose from.
func is13(s *tls.CipherSuite) bool {
	return slices.Equal(s.SupportedVersions, []uint16{tls.VersionTLS13})
}

func resolveTLS(k *kubelet.KubeletConfiguration) TLS {
	t := TLS{MinVersion: tls.VersionTLS12, CipherSuites: sealed}
	if k.TLSMinVersion != "" {
		t.MinVersion = tlsVersions[k.TLSMinVersion]
	}
	if len(k.TLSCipherSuites) > 0 {
		t.CipherSuites = nil
		known := tlsSuites()
		for _, name := range k.TLSCipherSuites {
			t.CipherSuites = append(t.CipherSuites, known[name].ID)
		}
	}
	for _, id := range k.TLSCurvePreferences {
		t.Curves = append(t.Curves, tls.CurveID(id))
	}
	return t
}

func validateTLS(k *kubelet.KubeletConfiguration) field.ErrorList {
	var errs field.ErrorList
	known := tlsSuites()
	for i, name := range k.TLSCipherSuites {
		if known[name] == nil {
			path := field.NewPath("tlsCipherSuites").Index(i)
			errs = append(errs, field.NotSupported(path, name, slices.Sorted(maps.Keys(known))))
		}
	}
	for i, id := range k.TLSCurvePreferences {
		if !slices.Contains(tlsCurves, tls.CurveID(id)) {
			path := field.NewPath("tlsCurvePreferences").Index(i)
			errs = append(errs, field.Invalid(path, id, fmt.Sprintf("must be the number of one of %v", tlsCurves)))
		}
	}
	return errs
}

// unchosenSuites names what the list of suites leaves out and is served all the same.
func unchosenSuites(k *kubelet.KubeletConfiguration) []Unmet {
	var names []string
	if len(k.TLSCipherSuites) == 0 {
		return nil
	}
	for _, s := range tls.CipherSuites() {
		if is13(s) && !slices.Contains(k.TLSCipherSuites, s.Name) {
			names = append(names, s.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	return []Unmet{{"tlsCipherSuites", fmt.Sprintf("the suites of TLS 1.3 cannot be chosen: %v are served as well", names)}}
}
