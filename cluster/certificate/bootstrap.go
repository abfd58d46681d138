package certificate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"nodal/cluster/retry"
)

// Bootstrap gets the node's first certificate with the credential of one kubeconfig, and writes another kubeconfig that
// uses it. It tries until it succeeds or the context ends.
func Bootstrap(ctx context.Context, nodeName, from, to string, pair Pair, log *slog.Logger) error {
	wanted := Wanted{NodeName: nodeName}
	retry.Until(ctx, log, "cannot obtain a "+wanted.String()+" yet", mostPause, func(ctx context.Context) error {
		api, err := read(from)
		if err != nil {
			return err
		}
		if err := renew(ctx, wanted, api, pair); err != nil {
			return err
		}
		return writeKubeconfig(api, to, pair)
	})
	return ctx.Err()
}

// read returns the client configuration of a kubeconfig.
func read(kubeconfig string) (*rest.Config, error) {
	api, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", kubeconfig, err)
	}
	return api, nil
}

// renew requests a certificate and puts it in the place of the present one.
func renew(ctx context.Context, wanted Wanted, api *rest.Config, pair Pair) error {
	authority, err := dial(api)
	if err != nil {
		return err
	}
	key, err := pair.key()
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	chain, err := authority.issue(ctx, wanted, key)
	if errors.Is(err, errRefused) {
		return errors.Join(err, pair.forget())
	}
	if err != nil {
		return err
	}
	return pair.save(chain, key, wanted)
}

// writeKubeconfig writes a kubeconfig for the same API server that uses the certificate.
func writeKubeconfig(api *rest.Config, path string, pair Pair) error {
	const name = "node"
	config := clientcmdapi.NewConfig()
	config.Clusters[name] = &clientcmdapi.Cluster{
		Server: api.Host, TLSServerName: api.ServerName, InsecureSkipTLSVerify: api.Insecure,
		CertificateAuthority: api.CAFile, CertificateAuthorityData: api.CAData,
	}
	config.AuthInfos[name] = &clientcmdapi.AuthInfo{ClientCertificate: pair.Path, ClientKey: pair.Path}
	config.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	config.CurrentContext = name
	text, err := clientcmd.Write(*config)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return keep(path, text)
}
