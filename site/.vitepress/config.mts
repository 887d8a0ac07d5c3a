// The site is made from the files of the repository as they are: this file says which
// of them are pages, and in what order a reader meets them. `make site` builds it.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { defineConfig, type MarkdownOptions, type SiteConfig } from 'vitepress'

const root = fileURLToPath(new URL('../..', import.meta.url))
const source = 'https://github.com/seed-82afce7a/rewind'

// Each page: its file in the repository, its place on the site, its name in the sidebar.
const pages: Record<string, [file: string, place: string, name: string][]> = {
  'First steps': [
    ['docs/index.md', 'index.md', 'What it is'],
    ['docs/install.md', 'install.md', 'Install'],
    ['docs/start.md', 'start.md', 'First use'],
    ['docs/recipes.md', 'recipes.md', 'Recipes'],
    ['docs/recipes/sandboxes.md', 'recipes/sandboxes.md', 'Sandboxes'],
  ],
  Agents: [
    ['docs/agents.md', 'agents.md', 'All agents'],
    ['extension/pi/README.md', 'agents/pi.md', 'Pi'],
    ['extension/claude-code/README.md', 'agents/claude-code.md', 'Claude Code'],
    ['extension/codex/README.md', 'agents/codex.md', 'Codex'],
    ['extension/opencode/README.md', 'agents/opencode.md', 'OpenCode'],
    ['extension/gemini/README.md', 'agents/gemini.md', 'Gemini CLI'],
    ['extension/copilot/README.md', 'agents/copilot.md', 'Copilot CLI'],
    ['extension/qwen/README.md', 'agents/qwen.md', 'Qwen Code'],
  ],
  Editors: [
    ['docs/vscode.md', 'vscode.md', 'VS Code'],
    ['docs/neovim.md', 'neovim.md', 'Neovim'],
  ],
  Reference: [
    ['docs/cli.md', 'cli.md', 'The command line'],
    ['docs/commands.md', 'commands.md', 'Commands'],
    ['docs/json.md', 'json.md', 'JSON'],
    ['docs/protocol.md', 'protocol.md', 'The protocol'],
    ['extension/client/README.md', 'client.md', 'Clients'],
    ['docs/peers.md', 'peers.md', 'Other checkpoints'],
  ],
  'Is it for me?': [
    ['docs/comparison.md', 'comparison.md', 'Comparison'],
    ['docs/benchmarks.md', 'benchmarks.md', 'Benchmarks'],
    ['docs/shortcomings.md', 'shortcomings.md', 'What it cannot do'],
    ['docs/limits.md', 'limits.md', 'All that is known'],
    ['docs/security.md', 'security.md', 'Security'],
    ['CHANGELOG.md', 'changelog.md', 'Changes'],
  ],
  Internals: [
    ['ARCHITECTURE.md', 'architecture.md', 'Architecture'],
    ['docs/format.md', 'format.md', 'Formats'],
    ['docs/format-remote.md', 'format-remote.md', 'What lies in a remote'],
    ['docs/testing.md', 'testing.md', 'Testing'],
    ['docs/release.md', 'release.md', 'Releases'],
    ['CONTRIBUTING.md', 'contributing.md', 'Contributing'],
  ],
}

const rewrites = Object.fromEntries(Object.values(pages).flat().map(([file, place]) => [file, place]))

// A link in a file of the repository leads to that file's page, and where it has none to
// the repository. One that leads nowhere ends the build.
const links: MarkdownOptions['config'] = (md) => {
  md.core.ruler.push('repository links', (state) => {
    const here = dirname(state.env.realPath ?? state.env.path)
    for (const block of state.tokens) {
      for (const token of block.children ?? []) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null
        if (!href || /^([a-z]+:|#)/.test(href)) continue
        const [path, hash] = href.split('#', 2)
        const file = relative(root, join(here, decodeURI(path)))
        if (!existsSync(join(root, file))) throw new Error(`${state.env.path}: a link leads nowhere: ${href}`)
        const page = rewrites[file]
        const target = page ? '/' + page : `${source}/blob/main/${file}`
        token.attrSet('href', hash ? `${target}#${hash}` : target)
      }
    }
  })
}

// A link to a part of a page leads to a heading that is there.
function checkParts({ outDir, pages, rewrites, site }: SiteConfig) {
  const html = new Map(pages.map((file) => {
    const page = (rewrites.map[file] ?? file).replace(/md$/, 'html')
    return [page, readFileSync(join(outDir, page), 'utf8')]
  }))
  for (const [page, text] of html) {
    for (const [, to, part] of text.matchAll(/href="([^":#]*)#([^"]+)"/g)) {
      const target = to ? to.slice(site.base.length) : page
      if (!html.get(target)?.includes(`id="${decodeURIComponent(part)}"`)) {
        throw new Error(`${page}: a link leads to no part of ${target}: #${part}`)
      }
    }
  }
}

export default defineConfig({
  base: process.env.SITE_BASE ?? '/', // a project's page on GitHub lies below its name
  srcDir: '..',
  srcExclude: ['!(docs|extension|*.md)/**', '{README,SECURITY}.md', 'docs/decisions/**', 'extension/*/!(README.md)', 'extension/*/*/**', 'extension/*.md'],
  outDir: './dist',
  cacheDir: './cache',
  rewrites,
  title: 'rewind',
  description: 'A time machine for the working directory of coding agents',
  lang: 'en',
  cleanUrls: false,
  lastUpdated: false,
  markdown: { config: links },
  buildEnd: checkParts,
  // The pages lie outside of this folder, where no module is found.
  vite: { resolve: { alias: { vue: join(root, 'site/node_modules/vue') } } },
  themeConfig: {
    outline: [2, 3],
    search: { provider: 'local' },
    nav: [
      { text: 'Install', link: '/install' },
      { text: 'Recipes', link: '/recipes' },
      { text: 'Commands', link: '/commands' },
      { text: 'Comparison', link: '/comparison' },
    ],
    sidebar: Object.entries(pages).map(([text, list]) => ({
      text,
      items: list.map(([, place, name]) => ({ text: name, link: '/' + place.replace(/(index)?\.md$/, '') })),
    })),
    socialLinks: [{ icon: 'github', link: source }],
    footer: { message: 'MIT licence' },
  },
})
