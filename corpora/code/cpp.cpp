// Heat spreading through a metal plate, solved with finite differences and
// printed as shaded characters.
//
// Build: g++ -std=c++20 -O2 -pthread cpp.cpp -o plate

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <concepts>
#include <functional>
#include <iomanip>
#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

namespace plate {

template <typename T>
concept Scalar = std::floating_point<T>;

/// A dense two-dimensional array stored row by row.
template <Scalar T>
class Grid {
public:
    Grid(std::size_t rows, std::size_t cols, T fill = T{})
        : rows_{rows}, cols_{cols}, cells_(rows * cols, fill) {
        if (rows < 3 || cols < 3) {
            throw std::invalid_argument{"a grid needs at least 3x3 cells"};
        }
    }

    std::size_t rows() const noexcept { return rows_; }
    std::size_t cols() const noexcept { return cols_; }

    T& operator()(std::size_t row, std::size_t col) noexcept {
        return cells_[row * cols_ + col];
    }
    const T& operator()(std::size_t row, std::size_t col) const noexcept {
        return cells_[row * cols_ + col];
    }

    [[nodiscard]] std::span<const T> row(std::size_t index) const {
        return {cells_.data() + index * cols_, cols_};
    }

    auto begin() const noexcept { return cells_.cbegin(); }
    auto end() const noexcept { return cells_.cend(); }

    friend void swap(Grid& a, Grid& b) noexcept {
        std::swap(a.rows_, b.rows_);
        std::swap(a.cols_, b.cols_);
        a.cells_.swap(b.cells_);
    }

private:
    std::size_t rows_;
    std::size_t cols_;
    std::vector<T> cells_;
};

/// Prints how long a scope took.
class ScopedTimer {
public:
    explicit ScopedTimer(std::string label) : label_{std::move(label)} {}
    ScopedTimer(const ScopedTimer&) = delete;
    ScopedTimer& operator=(const ScopedTimer&) = delete;
    ~ScopedTimer() {
        using namespace std::chrono;
        const auto elapsed = steady_clock::now() - start_;
        std::clog << label_ << ": " << elapsed / microseconds{1} << " µs\n";
    }

private:
    std::string label_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Something that keeps (part of) the plate hot or cold.
template <Scalar T>
class Source {
public:
    virtual ~Source() = default;
    virtual void apply(Grid<T>& grid, T time) const = 0;
};

template <Scalar T>
class HotEdge final : public Source<T> {
public:
    explicit HotEdge(T temperature) : temperature_{temperature} {}

    void apply(Grid<T>& grid, T /*time*/) const override {
        for (std::size_t row = 0; row < grid.rows(); ++row) {
            grid(row, 0) = temperature_;
        }
    }

private:
    T temperature_;
};

template <Scalar T>
class PulsingSpot final : public Source<T> {
public:
    PulsingSpot(std::pair<T, T> centre, T radius, std::function<T(T)> signal)
        : centre_{centre}, radius_{radius}, signal_{std::move(signal)} {}

    void apply(Grid<T>& grid, T time) const override {
        const auto [centre_row, centre_col] = centre_;
        for (std::size_t row = 1; row + 1 < grid.rows(); ++row) {
            for (std::size_t col = 1; col + 1 < grid.cols(); ++col) {
                const T distance = std::hypot(static_cast<T>(row) - centre_row,
                                              static_cast<T>(col) - centre_col);
                if (distance <= radius_) {
                    grid(row, col) = signal_(time);
                }
            }
        }
    }

private:
    std::pair<T, T> centre_;
    T radius_;
    std::function<T(T)> signal_;
};

template <Scalar T>
class Simulation {
public:
    // Above this ratio the explicit scheme starts to oscillate and blows up.
    static constexpr T kStabilityLimit = T{0.25};

    Simulation(Grid<T> initial, T diffusivity, T dt)
        : current_{std::move(initial)}, next_{current_}, ratio_{diffusivity * dt}, dt_{dt} {
        if (!(ratio_ > 0 && ratio_ <= kStabilityLimit)) {
            throw std::domain_error{"unstable: diffusivity * dt = " + std::to_string(ratio_)};
        }
    }

    template <typename S, typename... Args>
        requires std::derived_from<S, Source<T>>
    Simulation& add(Args&&... args) {
        sources_.push_back(std::make_unique<S>(std::forward<Args>(args)...));
        return *this;
    }

    /// Advances one step and returns the largest change of any cell.
    T step(unsigned workers = 1) {
        next_ = current_;
        const std::size_t inner = current_.rows() - 2;
        workers = std::clamp(workers, 1u, static_cast<unsigned>(inner));
        {
            std::vector<std::jthread> pool;
            for (unsigned w = 0; w < workers; ++w) {
                const std::size_t first = 1 + inner * w / workers;
                const std::size_t last = 1 + inner * (w + 1) / workers;
                pool.emplace_back([this, first, last] { relax(first, last); });
            }
        }  // the threads are joined here
        time_ += dt_;
        for (const auto& source : sources_) {
            source->apply(next_, time_);
        }
        const T largest = std::transform_reduce(
            current_.begin(), current_.end(), next_.begin(), T{0},
            [](T a, T b) { return std::max(a, b); },
            [](T before, T after) { return std::abs(after - before); });
        swap(current_, next_);
        return largest;
    }

    const Grid<T>& grid() const noexcept { return current_; }

private:
    void relax(std::size_t first_row, std::size_t last_row) {
        for (std::size_t r = first_row; r < last_row; ++r) {
            for (std::size_t c = 1; c + 1 < current_.cols(); ++c) {
                const T here = current_(r, c);
                const T laplacian = current_(r - 1, c) + current_(r + 1, c) +
                                    current_(r, c - 1) + current_(r, c + 1) - 4 * here;
                next_(r, c) = here + ratio_ * laplacian;
            }
        }
    }

    Grid<T> current_;
    Grid<T> next_;
    T ratio_;
    T dt_;
    T time_{0};
    std::vector<std::unique_ptr<Source<T>>> sources_;
};

template <Scalar T>
std::ostream& operator<<(std::ostream& out, const Grid<T>& grid) {
    static constexpr std::array<std::string_view, 5> kShades{" ", "░", "▒", "▓", "█"};
    const auto [coldest, hottest] = std::minmax_element(grid.begin(), grid.end());
    const T range = std::max(*hottest - *coldest, T{1e-9});
    for (std::size_t row = 0; row < grid.rows(); ++row) {
        for (const T value : grid.row(row)) {
            const T level = (value - *coldest) / range * (kShades.size() - 1);
            out << kShades[static_cast<std::size_t>(std::lround(level))];
        }
        out << '\n';
    }
    return out;
}

}  // namespace plate

int main() try {
    plate::Simulation<double> simulation{{24, 64, 20.0}, 1.2, 0.2};
    simulation.add<plate::HotEdge<double>>(90.0).add<plate::PulsingSpot<double>>(
        std::pair{12.0, 44.0}, 4.5,
        [](double t) { return 60.0 + 25.0 * std::exp(-0.04 * t) * std::sin(0.35 * t); });

    std::optional<int> settled_after;
    {
        plate::ScopedTimer timer{"simulation"};
        for (int step = 0; step < 2'000 && !settled_after; ++step) {
            if (simulation.step(std::thread::hardware_concurrency()) < 2e-3) {
                settled_after = step;
            }
        }
    }

    const auto& grid = simulation.grid();
    const double sum = std::accumulate(grid.begin(), grid.end(), 0.0);
    const double mean = sum / static_cast<double>(grid.rows() * grid.cols());
    std::cout << grid << "mean " << std::fixed << std::setprecision(2) << mean << " °C, "
              << (settled_after ? "settled\n" : "still moving\n");
} catch (const std::exception& error) {
    std::cerr << "plate: " << error.what() << '\n';
    return 1;
}
