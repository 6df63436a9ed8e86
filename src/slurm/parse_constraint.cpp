#include <algorithm>

#include "base/text.h"
#include "slurm/errors.h"
#include "slurm/translate.h"

namespace twinyard::slurm {

namespace {

/// Most terms that one expression may multiply out to.
constexpr std::size_t kTermsMax = 64;
/// Most words of one term.
constexpr std::size_t kWordsMax = 64;

using Terms = std::vector<model::NodeTerm>;

Terms both(const Terms& left, const Terms& right) {
    Terms product;
    for (const model::NodeTerm& a : left) {
        for (const model::NodeTerm& b : right) {
            model::NodeTerm term = a;
            term.all.insert(term.all.end(), b.all.begin(), b.all.end());
            product.push_back(std::move(term));
        }
    }
    return product;
}

/// any := all { "|" all };  all := one { ("&" | ",") one };  one := word | "(" any ")" | "[" any
/// "]"
class Parser {
  public:
    explicit Parser(std::string_view text) : rest_(text) {}

    Result<Constraint> parse() {
        TRY(Terms terms, any());
        if (!rest_.empty()) return refuse(Refusal::InvalidFeature);
        return Constraint{std::move(terms), matching_};
    }

  private:
    bool take(char c) {
        if (!rest_.starts_with(c)) return false;
        rest_.remove_prefix(1);
        return true;
    }

    Result<Terms> any() {
        if (++depth_ > 16) return refuse(Refusal::InvalidFeature);
        TRY(Terms terms, all());
        while (take('|')) {
            TRY(const Terms more, all());
            terms.insert(terms.end(), more.begin(), more.end());
            if (terms.size() > kTermsMax) return refuse(Refusal::InvalidFeature);
        }
        --depth_;
        return terms;
    }

    Result<Terms> all() {
        TRY(Terms terms, one());
        while (take('&') || take(',')) {
            TRY(const Terms more, one());
            if (terms.size() * more.size() > kTermsMax) return refuse(Refusal::InvalidFeature);
            terms = both(terms, more);
            // A copy of the whole term for each word is quadratic: the length is bounded too.
            if (terms.front().all.size() > kWordsMax) return refuse(Refusal::InvalidFeature);
        }
        return terms;
    }

    Result<Terms> one() {
        if (take('(')) return closed(')');
        if (take('[')) {
            matching_ = true;
            return closed(']');
        }
        const std::size_t end = std::min(rest_.find_first_of("&|,()[]*"), rest_.size());
        const std::string_view word = rest_.substr(0, end);
        rest_.remove_prefix(end);
        if (word.empty() || word.starts_with('!')) return refuse(Refusal::InvalidFeature);
        if (rest_.starts_with('*')) {
            return refuse(Refusal::NotSupported,
                          "Node counts in --constraint are not built yet: " + printable(word, 60));
        }
        return Terms{{{{std::string(word), model::LabelOp::Exists, {}}}}};
    }

    Result<Terms> closed(char end) {
        TRY(Terms terms, any());
        if (!take(end)) return refuse(Refusal::InvalidFeature);
        return terms;
    }

    std::string_view rest_;
    bool matching_ = false;
    int depth_ = 0;
};

}  // namespace

Result<Constraint> parse_constraint(std::string_view text) {
    return Parser(trim(text)).parse();
}

}  // namespace twinyard::slurm
