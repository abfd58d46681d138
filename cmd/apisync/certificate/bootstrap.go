package certificate

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Bootstrap gets the node's first certificate with the credential of one
// kubeconfig, and writes another that uses it. It tries until the context ends.
func Bootstrap(ctx context.Context, nodeName, from, to string, pair Pair, log *slog.Logger) error {
	return retry(ctx, log, func(ctx context.Context) error {
		api, err := clientcmd.BuildConfigFromFlags("", from)
		if err != nil {
			return fmt.Errorf("read %s: %w", from, err)
		}
		if err := renew(ctx, nodeName, api, pair); err != nil {
			return err
		}
		return writeKubeconfig(api, to, pair)
	})
}

// retry tries until it succeeds or the context ends.
func retry(ctx context.Context, log *slog.Logger, do func(context.Context) error) error {
	pauses := wait.Backoff{Duration: time.Second, Factor: 2, Jitter: 0.1, Steps: 30, Cap: 5 * time.Minute}
	return pauses.DelayFunc().Until(ctx, true, false, func(ctx context.Context) (bool, error) {
		err := do(ctx)
		if err != nil && ctx.Err() == nil {
			log.Warn("the node has no new client certificate yet", "err", err)
		}
		return err == nil, nil
	})
}

// renew replaces the certificate by a new one.
func renew(ctx context.Context, nodeName string, api *rest.Config, pair Pair) error {
	authority, err := dial(api)
	if err != nil {
		return err
	}
	key, err := pair.key()
	if err != nil {
		return fmt.Errorf("make a key: %w", err)
	}
	chain, err := authority.issue(ctx, nodeName, key)
	if errors.Is(err, errRefused) {
		return errors.Join(err, pair.forget())
	}
	if err != nil {
		return err
	}
	return pair.save(chain, key)
}

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
