// SPDX-License-Identifier: Apache-2.0
// The dashboards, rules and alerts of perfcountd as a monitoring mixin (https://monitoring.mixins.dev). All of them are
// the files of ../grafana and ../prometheus (rules.json is rules.yml); this only gives them the names that tools of
// mixins look for.
// For jsonnet 0.18 and newer.
local rules = import 'rules.libsonnet';

{
  _config+:: {
    // The job that scrapes perfcountd, for the alert that it is down.
    job: 'perfcountd',
    // Also record the names of node_exporter and cAdvisor: see ../prometheus/compat.yml.
    compat: false,
  },

  grafanaDashboards+:: {
    'perfcountd-fleet.json': import '../grafana/fleet.json',
    'perfcountd-board.json': import '../grafana/board.json',
    'perfcountd-containers.json': import '../grafana/containers.json',
  },

  prometheusRules+:: {
    groups+: (import 'rules.json').groups +
             (if $._config.compat then rules.parse(importstr '../prometheus/compat.yml').groups else []),
  },

  prometheusAlerts+:: {
    groups+: rules.parse(std.strReplace(importstr '../prometheus/alerts.yml',
                                        'job="perfcountd"',
                                        'job="%s"' % $._config.job)).groups,
  },
}
